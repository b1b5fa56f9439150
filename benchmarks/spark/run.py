# SPDX-License-Identifier: Apache-2.0
"""One run of all questions. Ways that are compared take turns: a round has each of them once, and the first round, in
which Spark's code is still being compiled, does not count. What has no rival (micro-batches, recordings, the delay)
comes afterwards, once."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.spark import delay, paths, replays, rows, sources, streams
from slipring.bench import machine

RATES = {64: 1_000_000, 1024: 500_000}  # of recordings
STREAMED = 64  # the size of which streaming sources are compared: that of the socket's lines


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    counts: dict[int, int]  # rows by size
    rounds: int
    recording_s: float  # 0: none
    delay_s: float
    quick: bool = False


FULL = Plan({64: 2_000_000, 1024: 400_000}, 5, 15.0, 20.0)
QUICK = Plan({64: 100_000, 1024: 20_000}, 1, 2.0, 5.0, True)


def measure(spark: Any, plan: Plan, root: Path, files: Path) -> dict[str, Any]:
    """All samples, as they are kept. Topics are made in ``root``, files in ``files``."""
    kept: dict[str, Any] = {"machine": machine.describe(), "began": time.time(), "quick": plan.quick}
    kept |= {"counts": plan.counts, "rates": {}, "sources": {}, "replay": {}}
    for size, count in plan.counts.items():
        made = rows.make(spark, size, count, root, files)
        ways = _ways(spark, made)
        found: dict[str, dict[str, list[float]]] = {"rates": {}, "sources": {}, "replay": {}}
        for turn in range(plan.rounds + 1):
            for question, way, asked in ways:
                told = asked()
                for name, rate in told.items() if isinstance(told, dict) else [(way, told)]:
                    _say(f"{size} B, round {turn}: {question}, {name}: {rate / 1e6:.3f} M/s")
                    if turn:
                        found[question].setdefault(name, []).append(rate)
        for question, rates in found.items():
            if rates:
                kept[question][str(size)] = rates
    kept["micro_batch_s"] = streams.micro_batch_s(spark, root, files)
    kept["delay"] = delay.to_lake(spark, root, files, plan.delay_s)
    if plan.recording_s:
        kept["recording"] = {
            str(size): streams.recording(spark, root, files, size, rate, plan.recording_s)
            for size, rate in RATES.items()
        }
    return kept


Way = tuple[str, str, Callable[[], float | dict[str, float]]]


def _ways(spark: Any, made: rows.Rows) -> list[Way]:
    """Question, name, and what measures it, in the order of a round."""
    lake = replays.recorded(spark, made)
    ways: list[Way] = [
        ("rates", path, partial(paths.rate, path, spark, made)) for path in paths.of(made.size)
    ]
    if made.size == STREAMED:
        ways += [("sources", name, partial(sources.rate, name, spark, made)) for name in sources.SOURCES]
    return [*ways, ("replay", "", partial(replays.rates, spark, made, lake))]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
