# SPDX-License-Identifier: Apache-2.0
"""Are the two processors near or far from each other right now? Samples are compared only with their like.

Where a hypervisor moves virtual processors, the round trip of a cache line changes 2 to 8 times, and takes every other
figure with it. Two pinned processes pass one byte of shared memory to each other; what both of their loops take in one
process is subtracted. Run as a program, this file prints that difference in ns.
"""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter_ns

from slipring.bench import process_group

# Seen: 38-60 ns near, where a round trip between two C programs takes 75 ns, and 225-360 ns far, where it takes 370.
FAR_FROM_NS = 150.0
BLOCKS, TRIPS = 20, 500
TIMEOUT_S = 20


def cache_line_ns() -> float | None:
    """What the distance adds to a round trip; None on one processor: samples then carry no label."""
    try:
        done = process_group.run([sys.executable, "-P", "-m", __name__], TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return None
    return float(done.stdout) if done.returncode == 0 else None


def label(before_ns: float | None, after_ns: float | None) -> str:
    """near, far, moved (changed while sampling) or unknown."""
    if before_ns is None or after_ns is None:
        return "unknown"
    before_far, after_far = before_ns >= FAR_FROM_NS, after_ns >= FAR_FROM_NS
    if before_far != after_far:
        return "moved"
    return "far" if before_far else "near"


def _ask(line: memoryview, turns: range) -> None:
    for turn in turns:
        asked, answered = 2 * turn & 255, 2 * turn + 1 & 255
        line[0] = asked
        while line[0] != answered:
            pass


def _answer(line: memoryview, turns: range) -> None:
    for turn in turns:
        asked, answered = 2 * turn & 255, 2 * turn + 1 & 255
        while line[0] != asked:
            pass
        line[0] = answered


def _both(line: memoryview, turns: range) -> None:
    """The steps of both, in one process."""
    for turn in turns:
        asked, answered = 2 * turn & 255, 2 * turn + 1 & 255
        line[0] = asked
        while line[0] != asked:
            pass
        asked, answered = 2 * turn & 255, 2 * turn + 1 & 255
        line[0] = answered
        while line[0] != answered:
            pass


def _best_ns(do: Callable[[memoryview, range], None], line: memoryview) -> float:
    """Of one turn: interruptions only ever add."""
    best = float("inf")
    for first in range(1, BLOCKS * TRIPS, TRIPS):
        begun = perf_counter_ns()
        do(line, range(first, first + TRIPS))
        best = min(best, (perf_counter_ns() - begun) / TRIPS)
    return best


def main() -> int:
    processors = sorted(os.sched_getaffinity(0))[:2]
    if len(processors) < 2:
        return 1
    line = memoryview(mmap.mmap(-1, mmap.PAGESIZE))
    child = os.fork()
    signal.alarm(TIMEOUT_S // 2)  # on a machine so busy that it does not end by then, there is no label
    os.sched_setaffinity(0, {processors[child == 0]})
    if child == 0:
        _answer(line, range(1, 1 + BLOCKS * TRIPS))
        os._exit(0)
    travelling = _best_ns(_ask, line)
    os.waitpid(child, 0)
    print(round(max(0.0, travelling - _best_ns(_both, line)), 1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
