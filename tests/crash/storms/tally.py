# SPDX-License-Identifier: Apache-2.0
"""Totals of all storms of a run, printed at its end: kills by role, messages, pauses in the survivors' progress."""

import time
from collections import Counter
from collections.abc import Callable

import numpy

from crash.storms.storm import SEED, Storm

PERCENTS = (50, 90, 99, 99.9, 100)
WORST = 5  # gaps that are listed


class Tally:
    def __init__(self) -> None:
        self.killed: Counter[str] = Counter()
        self.paused: Counter[str] = Counter()
        self.gaps: list[tuple[float, str, str]] = []
        self.metronome_ms: list[float] = []
        self.audited: Counter[str] = Counter()
        self._storming_s = 0.0

    def time(self, storm: Storm, action: Callable[[], None]) -> None:
        """Run the action. Its time counts if there were kills, for the rate of kills."""
        began = time.monotonic()
        action()
        self._storming_s += (time.monotonic() - began) * bool(storm.kills)

    def add(self, storm: Storm, **audited: int) -> None:
        self.killed += storm.killed
        self.paused += storm.paused
        self.gaps += storm.random_kills.gaps
        self.metronome_ms += storm.random_kills.metronome_ms
        self.audited.update(audited)

    def lines(self) -> list[str]:
        kills, seconds = self.killed.total(), self._storming_s or 1.0
        told = [
            f"{kills:,} kills in {seconds:.0f} s: {kills / seconds:.1f} kills/s; {self.paused.total():,} pauses"
        ]
        told[0] += f"; seed {SEED}"
        for kind, count in self.killed.most_common():
            told.append(f"{count:8,} x {kind}, paused {self.paused[kind]} times")
        told.append("audited: " + ", ".join(f"{count:,} {what}" for what, count in self.audited.items()))
        if self.gaps:
            told.append(f"longest gap of a survivor at a strike, ms: {_ranks([gap[0] for gap in self.gaps])}")
            told.append(f"of a process without Slipring beside them: {_ranks(self.metronome_ms)}")
            for gap_ms, whose, dead in sorted(self.gaps, reverse=True)[:WORST]:
                told.append(f"{gap_ms:10.1f} ms of {whose}, after the death of {dead}")
        return told


def _ranks(values_ms: list[float]) -> str:
    ranks = (f"p{p:g} {numpy.percentile(values_ms, p):.1f}" for p in PERCENTS)
    return f"{', '.join(ranks)} of {len(values_ms):,}"
