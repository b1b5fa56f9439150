# SPDX-License-Identifier: Apache-2.0
"""Fuzzing by a number of runs, without a measurement of coverage, in a process of its own.

The process has little memory to grow in. Before each run it stores the input in a shared file, so that an input that
ends the process, or never returns, is known. One run is one input. The committed inputs come first.

    python -m fuzz.counted NAME RUNS SECONDS SEED HANG_S FILE     the child; the parent is `run`
"""

import importlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path

from fuzz import corpus
from fuzz.running import FOUND, Outcome
from support.patience import scaled

HANG_S = int(scaled(20))
BLOCK = 64  # inputs between two checks of the time
MANY = 4  # one block in so many is given to `use_many`
MOST_INPUT = 1 << 16
MOST_GROWTH = 1 << 30  # bytes of address space, after the targets are prepared
MOST_LEAK = 150 << 20  # bytes of memory
TESTS = Path(__file__).resolve().parents[1]


@dataclass
class Counted:
    """A reader of hostile bytes. ``use`` and ``use_many`` raise only if the reader fails.

    share: of the runs of all targets, by the time of one run. use_many: gets some blocks of inputs again, together.
    """

    name: str
    share: float
    seeds: Callable[[], list[bytes]]
    mutate: Callable[[random.Random, bytes], bytes]
    use: Callable[[bytes], None]
    use_many: Callable[[list[bytes]], None] = lambda inputs: None


def targets() -> list[str]:
    return [f"bodies_{encoding}" for encoding in ENCODINGS] + ["schema_documents", "schema_codecs"]


ENCODINGS = ("msgpack", "json", "numpy", "arrow", "protobuf", "flatbuffers")


def load(name: str) -> Counted:
    """Return one of the targets, or the one of a test: MODULE:NAME."""
    if ":" in name:
        module, _, attribute = name.partition(":")
        found: Counted = getattr(importlib.import_module(module), attribute)
        return found
    from fuzz import bodies, schemas

    return bodies.target(name.removeprefix("bodies_")) if name.startswith("bodies_") else schemas.target(name)


def share(name: str) -> float:
    """Return the part of all runs that the target gets."""
    return load(name).share / sum(load(each).share for each in targets())


def run(
    name: str, *, runs: int = 0, seconds: float = 0, seed: int | None = None, hang_s: int = HANG_S
) -> Outcome:
    """Run so many inputs, or for so many seconds. The seed repeats a run."""
    chosen = random.randrange(1, 1 << 32) if seed is None else seed
    with tempfile.NamedTemporaryFile(prefix="slipring-fuzz-", dir="/dev/shm") as file:
        file.truncate(4 + MOST_INPUT)
        paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
        settings = [str(each) for each in (runs, seconds, chosen, hang_s)]
        child = subprocess.Popen(
            [sys.executable, "-m", "fuzz.counted", name, *settings, file.name],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONFAULTHANDLER": "1"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        )  # fmt: skip
        try:
            output, errors = _result(child, Path(file.name), hang_s)
        finally:
            child.kill()
            child.wait()
        data = Path(file.name).read_bytes()
    if child.returncode:
        failing = data[4 : 4 + int.from_bytes(data[:4], "little")]
        why = f"exit code {child.returncode}\n{errors[-3000:]}"
        return Outcome(name, 0, 0, 0, f"{_stored(name, chosen, failing)}\n{why}")
    report = json.loads(output.splitlines()[-1])
    failure = report["failure"]
    if failure:
        failure = f"{_stored(name, chosen, bytes.fromhex(report['input']))}\n{failure}"
    return Outcome(name, report["executions"], 0, 0, failure)


def _result(child: subprocess.Popen[str], file: Path, hang_s: int) -> tuple[str, str]:
    """Return the output of the child. End it when one input takes too long."""
    known, since = b"", time.monotonic()
    while True:
        try:
            return child.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            now = file.read_bytes()
        if now != known:
            known, since = now, time.monotonic()
        elif time.monotonic() - since > 3 * hang_s:
            child.send_signal(signal.SIGABRT)
            return child.communicate()


def _stored(name: str, seed: int, data: bytes) -> str:
    place = FOUND / f"{name.rpartition(':')[2]}-{corpus.digest(data)[:16]}"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return f"seed {seed}, input in {place}: {data[:2000]!r}"


class Failed(Exception):
    """A run failed with this input."""

    def __init__(self, data: bytes) -> None:
        super().__init__(f"{len(data)} bytes")
        self.data = data


def child(name: str, runs: int, seconds: float, seed: int, hang_s: int, file: Path) -> dict[str, object]:
    target, dice, parent = load(name), random.Random(seed), os.getppid()
    inputs = [*target.seeds(), *corpus.load(name).values()]
    with file.open("r+b") as opened:
        shared = mmap(opened.fileno(), 0)

    def ring(_number, _frame):
        raise TimeoutError(f"{BLOCK} inputs took more than {hang_s} s")

    signal.signal(signal.SIGALRM, ring)
    done, end, leak = 0, time.monotonic() + seconds, _Leak()
    try:
        for at in range(0, len(inputs), BLOCK):
            done += _block(target, shared, inputs[at : at + BLOCK], hang_s, True)
        leak.begin()
        while (done < runs or time.monotonic() < end) and os.getppid() == parent:
            picked = [inputs[int(dice.random() * len(inputs))] for _ in range(BLOCK)]
            mutants = [target.mutate(dice, data)[:MOST_INPUT] for data in picked]
            done += _block(target, shared, mutants, hang_s, done // BLOCK % MANY == 0)
        leak.check()
    except Failed as error:
        return {"executions": done, "failure": traceback.format_exc()[-3000:], "input": error.data.hex()}
    return {"executions": done, "failure": ""}


def _block(target: Counted, shared: mmap, inputs: list[bytes], hang_s: int, many: bool) -> int:
    signal.alarm(hang_s)
    data = b""
    try:
        for data in inputs:
            shared[: 4 + len(data)] = len(data).to_bytes(4, "little") + data
            target.use(data)
    except Exception as error:
        raise Failed(data) from error
    try:
        if many:
            target.use_many(inputs)
    except Exception as error:
        raise Failed(_alone(target, inputs)) from error
    finally:
        signal.alarm(0)
    return len(inputs)


def _alone(target: Counted, inputs: list[bytes]) -> bytes:
    """Return an input of the block that fails alone, or the first."""
    for data in inputs:
        try:
            target.use_many([data])
        except Exception:  # noqa: BLE001
            return data
    return inputs[0]


def _memory() -> tuple[int, int]:
    """Return the bytes of address space and of memory. Not ru_maxrss: a child begins with the peak of its parent."""
    pages = Path("/proc/self/statm").read_text().split()
    return int(pages[0]) * resource.getpagesize(), int(pages[1]) * resource.getpagesize()


class _Leak:
    """Limits the memory of this process, once the targets are prepared."""

    def begin(self) -> None:
        used, self._before = _memory()
        resource.setrlimit(resource.RLIMIT_AS, (used + MOST_GROWTH,) * 2)

    def check(self) -> None:
        grown = _memory()[1] - self._before
        if grown > MOST_LEAK:
            raise Failed(b"") from MemoryError(f"the process has grown by {grown} bytes")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    name, runs, seconds, seed, hang_s, file = sys.argv[1:]
    report = child(name, int(runs), float(seconds), int(seed), int(hang_s), Path(file))
    print(json.dumps(report), flush=True)
