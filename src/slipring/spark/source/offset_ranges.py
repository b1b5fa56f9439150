# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of ranges: how much of each topic a batch takes, and how that is cut into tasks. No topic is opened."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

HALVINGS = 12  # precision of the bytes of a small backlog


@dataclass(frozen=True)
class Range:
    topic: str
    generation: int
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


def share_rows(limit: int, backlogs: Mapping[str, int]) -> dict[str, int]:
    """Return each topic's share of `limit` sequences, in proportion to its backlog.

    Each topic with a backlog gets at least one, so that none starves, also if that exceeds the limit."""
    waiting = {topic: backlog for topic, backlog in backlogs.items() if backlog > 0}
    total = sum(waiting.values())
    if total <= limit:
        return waiting
    spare, rest = max(0, limit - len(waiting)), total - len(waiting)
    return {topic: 1 + spare * (backlog - 1) // max(1, rest) for topic, backlog in waiting.items()}


def share_bytes(limit: int, wanted: Mapping[str, int], end_of: Callable[[str, int], int]) -> dict[str, int]:
    """Return the end of each topic's part of a batch of `limit` bytes.

    wanted: the ends of the backlogs. end_of(topic, size): the end of `size` bytes, and of at least one message.
    The parts are equal; topics with a small backlog leave the rest of their part to the others."""
    ends: dict[str, int] = {}
    waiting, left = sorted(wanted), limit
    while waiting:
        part = max(1, left // len(waiting))
        found = {topic: min(end_of(topic, part), wanted[topic]) for topic in waiting}
        small = [topic for topic in waiting if found[topic] >= wanted[topic]]
        if not small:
            return ends | found
        for topic in small:
            ends[topic] = wanted[topic]
            left -= _used(part, wanted[topic], functools.partial(end_of, topic))
        waiting = [topic for topic in waiting if topic not in small]
    return ends


def _used(part: int, end: int, end_of: Callable[[int], int]) -> int:
    """Return a bound of the bytes up to `end`, which fit into `part`: between once and twice their number."""
    for _ in range(HALVINGS):
        if part < 2 or end_of(part // 2) < end:
            break
        part //= 2
    return part


def split(
    ranges: Iterable[Range], min_partitions: int | None = None, max_records: int | None = None
) -> list[Range]:
    """Return the same sequences in more pieces, none larger than max_records.

    There are at least min_partitions pieces, if there are as many sequences. The pieces of a topic have about the same
    size and are in order."""
    whole = [piece for piece in ranges if piece.size > 0]
    counts = [-(-piece.size // max_records) if max_records else 1 for piece in whole]
    if min_partitions:
        _raise_counts(counts, [piece.size for piece in whole], min_partitions)
    return [part for piece, count in zip(whole, counts, strict=True) for part in _cut(piece, count)]


def _raise_counts(counts: list[int], sizes: list[int], target: int) -> None:
    """Cut the range with the largest pieces once more, until there are enough pieces."""
    total = sum(sizes)
    for at, size in enumerate(sizes):  # most of the way in one step
        counts[at] = max(counts[at], min(size, target * size // total))
    while sum(counts) < min(target, total):
        largest = max(range(len(sizes)), key=lambda at: sizes[at] / counts[at])
        counts[largest] += 1


def _cut(piece: Range, count: int) -> list[Range]:
    edges = [piece.start + piece.size * at // count for at in range(count + 1)]
    return [
        Range(piece.topic, piece.generation, low, high)
        for low, high in itertools.pairwise(edges)
        if high > low
    ]
