# SPDX-License-Identifier: Apache-2.0
"""Takes the samples: round after round through all cases, so that a change of the machine hits all of them alike."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from slipring.bench import placement, process_group
from slipring.bench.case import Case
from slipring.bench.environment import Environment
from slipring.bench.histogram import Histogram
from slipring.bench.other_load import OtherLoad

SAMPLE_TIMEOUT_S = 45
SHARED_MEMORY = Path("/dev/shm")
# numpy comes in with pyarrow, and its OpenBLAS starts threads that spin: on two processors they take one.
QUIET = {"OPENBLAS_NUM_THREADS": "1"}
Sample = dict[str, Any]


@contextmanager
def bus_root(within: Path | None = None) -> Iterator[Path]:
    """A directory for this run alone; afterwards nothing that carries its name is left."""
    memory = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    # Short, because transports make socket paths of it, and those have little room.
    root = Path(tempfile.mkdtemp(prefix="srb-", dir=within or memory))
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)
        sweep(root.name)


def sweep(name: str) -> None:
    """Remove what transports put flat into /dev/shm under the run's name."""
    for left in SHARED_MEMORY.glob(f"*{name}*"):
        if left.name == name:
            continue
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def run_sample(environment: Environment, case: Case, place: Path, seconds: float) -> Sample:
    """Take one sample; an error is a result like any other."""
    place.mkdir()
    command = environment.command(case, place, seconds)
    try:
        done = process_group.run(command, SAMPLE_TIMEOUT_S, QUIET)
    except OSError as error:
        return {"error": f"{error.strerror}: {command[0]}"}
    except subprocess.TimeoutExpired:
        return {"error": "took too long"}
    finally:
        shutil.rmtree(place, ignore_errors=True)
        sweep(place.parent.name)
    if done.returncode != 0:
        last_lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        return {"error": last_lines[-1]}
    return _parsed(done.stdout)


def _parsed(output: str) -> Sample:
    sample: Sample = json.loads(output.splitlines()[-1])
    if "histogram" in sample:
        sample["figures"] |= Histogram.parse(sample["histogram"]).figures()
    return sample


def sample_with_surroundings(
    environment: Environment, case: Case, turn: int, place: Path, seconds: float
) -> Sample:
    """One sample, and what the machine was like around it."""
    before = placement.cache_line_ns()
    others = OtherLoad()
    result = run_sample(environment, case, place, seconds)
    disturbed, took_s = others.processors(), others.elapsed_s()
    after = placement.cache_line_ns()
    return {
        "question": case.question,
        "transport": case.transport,
        "settings": case.settings,
        "case": case.key,
        "round": turn,
        "cache_line_ns": [before, after],
        "placement": placement.label(before, after),
        "other_load": disturbed,
        "took_s": took_s,
        **result,
    }


def take(
    environment: Environment,
    root: Path,
    cases: list[Case],
    rounds: int,
    seconds: float,
    limit_s: float,
    announce: Callable[[int, int, Case], None],
) -> list[Sample]:
    """All samples, interleaved; a round that would not end within the limit is not begun.

    ``announce`` gets the round, the number of the case in it, and the case.
    """
    samples: list[Sample] = []
    failed: set[str] = set()
    begun = time.monotonic()
    for turn in range(rounds):
        if turn and (time.monotonic() - begun) * (turn + 1) / turn > limit_s:
            break
        for number, case in enumerate(cases):
            name = f"{case.question} {case.key}"
            if name in failed:
                # A transport that failed once would only cost time again.
                continue
            announce(turn, number, case)
            sample = sample_with_surroundings(environment, case, turn, root / f"{turn}-{number}", seconds)
            samples.append(sample)
            if "error" in sample and not environment.suite.is_ours(case.transport):
                failed.add(name)
    return samples
