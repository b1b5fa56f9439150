# SPDX-License-Identifier: Apache-2.0
"""A histogram of times in ns: 64 buckets for each power of two, so that a time is kept to within one percent.

Times below 128 ns are exact. What two rounds, or two processes, have seen is added up without losing the tails, which
medians of percentiles would. As text it is ``bucket:count`` for each bucket that has any; floors/two.h writes the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

SUB_BITS = 6
QUANTILES = {"p50_us": 0.50, "p99_us": 0.99, "p99.9_us": 0.999}


def bucket_of(ns: int) -> int:
    shift = max(0, ns.bit_length() - SUB_BITS - 1)
    return (shift << SUB_BITS) + (ns >> shift)


def middle_of(bucket: int) -> float:
    """The middle of a bucket's times, in ns."""
    shift = max(0, (bucket >> SUB_BITS) - 1)
    lowest = (bucket - (shift << SUB_BITS)) << shift
    return lowest + ((1 << shift) - 1) / 2


class Histogram:
    def __init__(self, counts: Counter[int] | None = None) -> None:
        self.counts: Counter[int] = counts if counts is not None else Counter()

    @classmethod
    def of(cls, times_ns: Iterable[int]) -> Histogram:
        found = cls()
        # Equal times first: there are far fewer different ones.
        for ns, count in Counter(times_ns).items():
            found.counts[bucket_of(ns)] += count
        return found

    @classmethod
    def parse(cls, text: str) -> Histogram:
        pairs = (pair.split(":") for pair in text.split())
        return cls(Counter({int(bucket): int(count) for bucket, count in pairs}))

    def text(self) -> str:
        return " ".join(f"{bucket}:{count}" for bucket, count in sorted(self.counts.items()))

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(self.counts + other.counts)

    def quantile_ns(self, share: float) -> float:
        """The time that a ``share`` of all times lies below; 1 is the longest."""
        rank = min(self.counts.total() - 1, int(self.counts.total() * share))
        for bucket, count in sorted(self.counts.items()):
            rank -= count
            if rank < 0:
                return middle_of(bucket)
        raise ValueError("a histogram without times has no quantiles")

    def figures(self) -> dict[str, float]:
        named = {name: self.quantile_ns(share) / 1000 for name, share in QUANTILES.items()}
        return {**named, "max_us": self.quantile_ns(1.0) / 1000}
