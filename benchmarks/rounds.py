# SPDX-License-Identifier: Apache-2.0
"""Takes the samples: round after round through all cases, so that a moody machine hits everybody alike."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import placement, rivals_venv
from benchmarks.bystanders import Bystanders
from benchmarks.case import Case
from benchmarks.rivals import is_ours, package_of

REPOSITORY = Path(__file__).parent.parent
SAMPLE_TIMEOUT_S = 45
SHARED_MEMORY = Path("/dev/shm")
# numpy comes in with pyarrow, and its OpenBLAS starts threads that spin: on two processors they take one.
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


@contextmanager
def bus_root() -> Iterator[Path]:
    """A directory for this run alone; afterwards nothing that carries its name is left."""
    memory = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    # Short, because rivals make socket paths of it, and those have little room.
    root = Path(tempfile.mkdtemp(prefix="srb-", dir=memory))
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)
        sweep(root.name)


def sweep(name: str) -> None:
    """Remove what rivals put flat into /dev/shm under the run's name."""
    for left in SHARED_MEMORY.glob(f"*{name}*"):
        if left.name == name:
            continue
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def interpreter(case: Case) -> Path:
    needs_venv = package_of(case.transport) is not None and not is_ours(case.transport)
    return rivals_venv.PYTHON if needs_venv else Path(sys.executable)


def run_sample(case: Case, place: Path, seconds: float) -> dict:
    """One sample in a process group of its own; an error is a result like any other."""
    place.mkdir()
    command = [interpreter(case), "-m", "benchmarks.sample", case.to_json(), place, str(seconds)]
    try:
        process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    except OSError as error:
        return {"error": f"{error.strerror}: {command[0]}"}
    try:
        output, errors = process.communicate(timeout=SAMPLE_TIMEOUT_S)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            return {"error": "took too long"}
        raise
    finally:
        shutil.rmtree(place, ignore_errors=True)
        sweep(place.parent.name)
    if process.returncode != 0:
        last_lines = errors.strip().splitlines() or [f"ended with {process.returncode}"]
        return {"error": last_lines[-1]}
    return json.loads(output.splitlines()[-1])


def sample_with_surroundings(case: Case, turn: int, place: Path, seconds: float, probe: Path | None) -> dict:
    """One sample, and what the machine was like around it."""
    before = placement.cache_line_ns(probe)
    bystanders = Bystanders()
    result = run_sample(case, place, seconds)
    disturbed, took_s = bystanders.processors(), bystanders.elapsed_s()
    after = placement.cache_line_ns(probe)
    return {
        "question": case.question,
        "transport": case.transport,
        "settings": case.settings,
        "case": case.key,
        "round": turn,
        "cache_line_ns": [before, after],
        "placement": placement.label(before, after),
        "bystanders": disturbed,
        "took_s": took_s,
        **result,
    }


def take(
    cases: list[Case], rounds: int, seconds: float, limit_s: float, announce: Callable[[int, Case], None]
) -> list[dict]:
    """All samples, interleaved; a round that would not end within the limit is not begun."""
    probe = placement.build_probe()
    samples: list[dict] = []
    failed: set[str] = set()
    begun = time.monotonic()
    with bus_root() as root:
        for turn in range(rounds):
            if turn and (time.monotonic() - begun) * (turn + 1) / turn > limit_s:
                print(f"stopped after {turn} of {rounds} rounds to end in time")
                break
            for number, case in enumerate(cases):
                name = f"{case.question} {case.key}"
                if name in failed:
                    # A rival that failed once would only cost time again.
                    continue
                announce(turn, case)
                sample = sample_with_surroundings(case, turn, root / f"{turn}-{number}", seconds, probe)
                samples.append(sample)
                if "error" in sample and not is_ours(case.transport):
                    failed.add(name)
    return samples
