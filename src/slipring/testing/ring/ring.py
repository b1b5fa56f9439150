# SPDX-License-Identifier: Apache-2.0
"""The ring of a topic: the state of each sequence (open, committed, abandoned), and which messages are still kept.

Room is counted as in shared memory (docs/spec/memory-layout.md): a message needs its body and its names, each rounded
up to 8 bytes, and one slot is never used. Here, the oldest messages are overwritten one by one, as late as possible;
shared memory overwrites many at a time.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass

OPEN, COMMITTED, ABANDONED = "open", "committed", "abandoned"
_UNIT = 8


def _round_up(size: int) -> int:
    return -(-size // _UNIT) * _UNIT


def reserved_bytes(body_size: int, type: str, sender: str) -> int:
    """Return the bytes of the capacity that a message takes."""
    return max(_UNIT, _round_up(body_size) + _round_up(len(type.encode()) + len(sender.encode())))


@dataclass(slots=True)
class Entry:
    """One sequence."""

    writer: int  # number of the publisher's handle
    type: str
    sender: str
    reserved: int
    body: bytes = b""
    time_ns: int = 0
    state: str = OPEN


class Ring:
    def __init__(self, capacity: int, slots: int) -> None:
        self.capacity = capacity
        self.slots = slots
        self.oldest = 0
        self.tail = 0
        self.published = 0
        self.bytes = 0
        self.entries: dict[int, Entry] = {}  # of [oldest, tail)
        self.open: dict[int, Entry] = {}
        self.abandoned: list[int] = []  # all there ever were, sorted
        self._used = 0

    def claim(self, entry: Entry, hold: Callable[[], int]) -> int | None:
        """Claim the next sequence. Overwrite the oldest messages below hold() if needed; return None if that is not
        enough."""
        oldest = self._oldest_with_room(entry.reserved, hold)
        if oldest is None:
            return None
        for seq in range(self.oldest, oldest):
            self._used -= self.entries.pop(seq).reserved
        self.oldest = oldest
        seq = self.tail
        self.entries[seq] = self.open[seq] = entry
        self._used += entry.reserved
        self.tail += 1
        return seq

    def has_room(self, reserved: int, hold: Callable[[], int]) -> bool:
        return self._oldest_with_room(reserved, hold) is not None

    def _oldest_with_room(self, reserved: int, hold: Callable[[], int]) -> int | None:
        """Return the first sequence to keep so that a message fits."""
        oldest, used, limit = self.oldest, self._used, None
        while self.tail - oldest >= self.slots - 1 or used + reserved > self.capacity:
            limit = hold() if limit is None else limit
            if oldest >= limit:
                return None
            used -= self.entries[oldest].reserved
            oldest += 1
        return oldest

    def commit(self, seq: int, body: bytes, time_ns: int) -> None:
        entry = self.open.pop(seq)
        entry.body, entry.time_ns, entry.state = body, time_ns, COMMITTED
        self.published += 1
        self.bytes += len(body)

    def abandon(self, seq: int) -> None:
        self.open.pop(seq).state = ABANDONED
        insort(self.abandoned, seq)

    def messages(self, start: int, end: int) -> int:
        """Return how many sequences of [start, end) became messages. All are settled."""
        gone = bisect_left(self.abandoned, end) - bisect_left(self.abandoned, start)
        return max(0, end - start - gone)

    def newest(self) -> int:
        """Return the sequence of the newest message, or the tail if there is none."""
        seqs = range(self.tail - 1, self.oldest - 1, -1)
        return next((seq for seq in seqs if self.entries[seq].state is COMMITTED), self.tail)
