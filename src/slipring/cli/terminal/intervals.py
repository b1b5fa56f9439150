# SPDX-License-Identifier: Apache-2.0
"""Rates and intervals of received messages, in memory that does not grow with their number.

Intervals are differences between the publishers' time stamps, so that reading in batches does not change them. They are
counted by length; when there are too many lengths, those within one per cent are merged.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

_STEP = math.log(1.01)
_MANY_LENGTHS = 1 << 14


class Stamped(Protocol):
    """The required fields of a message."""

    @property
    def seq(self) -> int: ...
    @property
    def time_ns(self) -> int: ...
    @property
    def body(self) -> Any: ...


class Arrivals:
    """One window of observation; windows can be added up to a total."""

    def __init__(self) -> None:
        self.messages = 0
        self.size_bytes = 0
        self.lost = 0
        self.elapsed_s = 0.0
        self._gaps: Counter[int] = Counter()

    def add(self, messages: Sequence[Stamped], previous: Stamped | None) -> Stamped | None:
        """Count ``messages``, which follow ``previous``; return the last one."""
        if not messages:
            return previous
        self.messages += len(messages)
        self.size_bytes += sum([len(message.body) for message in messages])
        chain = [previous, *messages] if previous is not None else messages
        if chain[-1].seq - chain[0].seq == len(chain) - 1:
            stamps = [message.time_ns for message in chain]
            gaps = [after - before for before, after in pairwise(stamps)]
        else:  # lost messages between them: their distance is not an interval
            gaps = [
                after.time_ns - before.time_ns
                for before, after in pairwise(chain)
                if after.seq == before.seq + 1
            ]
        if gaps and min(gaps) < 0:  # another publisher with an earlier time stamp
            gaps = [max(gap, 0) for gap in gaps]
        self._gaps.update(gaps)
        self._thin_out()
        return messages[-1]

    def merge(self, other: Arrivals) -> None:
        self.messages += other.messages
        self.size_bytes += other.size_bytes
        self.lost += other.lost
        self.elapsed_s += other.elapsed_s
        self._gaps.update(other._gaps)
        self._thin_out()

    def summary(self) -> dict[str, float | int | None]:
        """Return the figures; bytes per second assume that lost messages had the average size."""
        rate = (self.messages + self.lost) / self.elapsed_s if self.elapsed_s > 0 else 0.0
        mean_size = self.size_bytes / self.messages if self.messages else 0.0
        return {
            "elapsed_s": self.elapsed_s,
            "messages": self.messages,
            "lost": self.lost,
            "rate_hz": rate,
            "bytes_per_s": rate * mean_size,
            "gap_min_s": min(self._gaps) / 1e9 if self._gaps else None,
            "gap_median_s": self._quantile(0.5),
            "gap_p99_s": self._quantile(0.99),
            "gap_max_s": max(self._gaps) / 1e9 if self._gaps else None,
        }

    def _thin_out(self) -> None:
        """Round lengths, except the extremes, to steps of one per cent when there are too many."""
        if len(self._gaps) <= _MANY_LENGTHS:
            return
        extremes = (min(self._gaps), max(self._gaps))
        thinned: Counter[int] = Counter()
        for gap, count in self._gaps.items():
            rounded = round(math.exp(round(math.log(gap) / _STEP) * _STEP)) if gap else 0
            thinned[gap if gap in extremes else min(rounded, extremes[1])] += count
        self._gaps = thinned

    def _quantile(self, part: float) -> float | None:
        left = math.ceil(self._gaps.total() * part)
        for gap in sorted(self._gaps):
            left -= self._gaps[gap]
            if left <= 0:
                return gap / 1e9
        return None
