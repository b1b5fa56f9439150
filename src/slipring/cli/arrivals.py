# SPDX-License-Identifier: Apache-2.0
"""Rates and gaps of the messages a reader saw, in memory that does not grow with their number.

Gaps are the differences between the publishers' own time stamps, so that reading in batches does not blur
them.  They are counted in buckets one per cent wide; the smallest and the largest are kept exactly.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any, Protocol

_STEP = math.log(1.01)


class Stamped(Protocol):
    """What is needed of a message."""

    @property
    def seq(self) -> int: ...
    @property
    def time_ns(self) -> int: ...
    @property
    def body(self) -> Any: ...


class Arrivals:
    """One window of observation; windows add up to a total."""

    def __init__(self) -> None:
        self.messages = 0
        self.size_bytes = 0
        self.lost = 0
        self.elapsed_s = 0.0
        self._gaps: Counter[int] = Counter()
        self._shortest_ns = 0
        self._longest_ns = 0

    def add(self, messages: Iterable[Stamped], previous: Stamped | None) -> Stamped | None:
        """Count ``messages``, which follow ``previous``; return the last one."""
        for message in messages:
            self.messages += 1
            self.size_bytes += len(message.body)
            if previous is not None and message.seq == previous.seq + 1:
                self._gap(max(message.time_ns - previous.time_ns, 0))
            previous = message
        return previous

    def merge(self, other: Arrivals) -> None:
        if other._gaps:
            fresh = not self._gaps
            self._shortest_ns = other._shortest_ns if fresh else min(self._shortest_ns, other._shortest_ns)
            self._longest_ns = max(self._longest_ns, other._longest_ns)
            self._gaps.update(other._gaps)
        self.messages += other.messages
        self.size_bytes += other.size_bytes
        self.lost += other.lost
        self.elapsed_s += other.elapsed_s

    def summary(self) -> dict[str, float | int | None]:
        """The figures; when some messages were lost, bytes per second assume they were like the others."""
        rate = (self.messages + self.lost) / self.elapsed_s if self.elapsed_s > 0 else 0.0
        mean_size = self.size_bytes / self.messages if self.messages else 0.0
        return {
            "elapsed_s": self.elapsed_s,
            "messages": self.messages,
            "lost": self.lost,
            "rate_hz": rate,
            "bytes_per_s": rate * mean_size,
            "gap_min_s": self._shortest_ns / 1e9 if self._gaps else None,
            "gap_median_s": self._quantile(0.5),
            "gap_p99_s": self._quantile(0.99),
            "gap_max_s": self._longest_ns / 1e9 if self._gaps else None,
        }

    def _gap(self, gap_ns: int) -> None:
        self._shortest_ns = min(self._shortest_ns, gap_ns) if self._gaps else gap_ns
        self._longest_ns = max(self._longest_ns, gap_ns)
        self._gaps[round(math.log(gap_ns) / _STEP) if gap_ns else -1] += 1

    def _quantile(self, part: float) -> float | None:
        left = math.ceil(self._gaps.total() * part)
        for bucket in sorted(self._gaps):
            left -= self._gaps[bucket]
            if left <= 0:
                gap_ns = math.exp(bucket * _STEP) if bucket >= 0 else 0.0
                return min(max(gap_ns, self._shortest_ns), self._longest_ns) / 1e9
        return None
