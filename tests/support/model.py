# SPDX-License-Identifier: Apache-2.0
"""A plain model of topics and subscribers: what the documents promise, without rings, processes or memory.

TopicModel    the log of everything ever claimed, who holds what, and whether the next message fits
ReaderModel   checks what a subscriber gave and how it counted against the log

Retention is the one thing not modelled exactly: a lossy reader may lose a message only once half a ring has
been claimed after it, and has to say so exactly.
"""

from dataclasses import dataclass, field

UNIT = 8
OPEN, COMMITTED, ABANDONED = "open", "committed", "abandoned"


def round_up(size: int) -> int:
    return -(-size // UNIT) * UNIT


@dataclass
class Entry:
    body: bytes
    type: str
    sender: str
    state: str = COMMITTED

    @property
    def reserved(self) -> int:
        names = len(self.type.encode()) + len(self.sender.encode())
        return max(UNIT, round_up(len(self.body)) + round_up(names))


@dataclass
class TopicModel:
    name: str
    capacity: int
    slots: int
    reliable: bool
    log: list[Entry] = field(default_factory=list)
    readers: list = field(default_factory=list)
    cursors: dict[str, int] = field(default_factory=dict)
    reclaimed: int = 0

    @property
    def tail(self) -> int:
        return len(self.log)

    def committed(self, start: int, end: int) -> int:
        return sum(entry.state == COMMITTED for entry in self.log[start:end])

    def limit(self, start: int) -> int:
        """Where reading from ``start`` has to stop: the first open loan, or the tail."""
        return next((seq for seq in range(start, self.tail) if self.log[seq].state == OPEN), self.tail)

    def hold(self, views: bool = True, looked: bool = True) -> int:
        """The lowest sequence that may not be reused; without views: that has to stay readable.

        A reader that has only looked (wait) has passed some already, but need not have let go of them."""
        holds = [self.tail, self.limit(0)]
        if views:
            holds += [reader.viewed for reader in self.readers if reader.viewed is not None]
        if self.reliable:
            holds += list(self.cursors.values())
            readers = [reader for reader in self.readers if reader.reliable and not reader.cursor]
            holds += [reader.position if looked else reader.passed for reader in readers]
        return min(holds)

    def fits(self, entry: Entry, looked: bool = True) -> bool:
        held = self.log[self.hold(looked=looked) :]
        room = self.capacity - sum(other.reserved for other in held)
        return len(held) < self.slots - 1 and entry.reserved <= room

    def may_be_lost(self, seq: int, more: int = 0) -> bool:
        after = self.log[seq:]
        size = sum(entry.reserved for entry in after) + more
        return seq < self.reclaimed or len(after) > self.slots // 2 or size > self.capacity // 2

    def refused(self, entry: Entry) -> None:
        """What had to be given up for a message that a hold then refused stays given up."""
        while self.reclaimed < self.tail and self.may_be_lost(self.reclaimed, entry.reserved):
            self.reclaimed += 1


@dataclass
class ReaderModel:
    topic: TopicModel = field(repr=False)
    sub: object
    reliable: bool
    conflate: bool
    wants: object  # function of an Entry
    cursor: str | None
    position: int
    passed: int = 0  # position when it last received
    viewed: int | None = None
    origin: int = 0  # the account is kept from here on …
    base: tuple[int, int, int] = (0, 0, 0)  # … where the counters stood so
    exact: bool = True

    def __post_init__(self) -> None:
        self.origin = self.passed = self.position

    def limit(self) -> int:
        """Where reading stops: conflating passes over open loans (they count once they have settled)."""
        return self.topic.tail if self.conflate else self.topic.limit(self.position)

    def wanted(self, start: int, end: int) -> list[int]:
        log = self.topic.log
        return [seq for seq in range(start, end) if log[seq].state == COMMITTED and self.wants(log[seq])]

    def looked(self) -> None:
        """It was asked whether it is ready, which may have shown that it was lapped."""
        passed = self.passed
        self.check([], complete=False)
        self.passed = passed

    def check(self, messages: list[tuple[int, str, str, bytes]], complete: bool) -> None:
        """``messages`` were received; ``complete``: fewer than asked for, so nothing readable may be left."""
        start, end, limit = self.position, self.sub.position, self.limit()
        got = [seq for seq, *_ in messages]
        assert got == sorted(set(got))
        assert all(start <= seq < end for seq in got)
        assert start <= end <= max(limit, start), "read past an uncommitted message"
        for seq, sender, kind, body in messages:
            entry = self.topic.log[seq]
            assert entry.state == COMMITTED
            assert self.wants(entry)
            assert (entry.sender, entry.type, entry.body) == (sender, kind, body)
        self._check_what_is_missing(got, start, end)
        self.position = self.passed = end
        self._check_account(end)
        if complete:
            left = self.wanted(end, limit)
            assert not left, f"{left} are readable, but were not delivered"
            passed = self.topic.committed(end, self.topic.limit(end)) == 0
            assert passed or (self.conflate and got), "what is filtered was not passed"

    def _check_what_is_missing(self, got: list[int], start: int, end: int) -> None:
        missed = [seq for seq in self.wanted(start, end) if seq not in got]
        if self.conflate:
            newest = self.wanted(start, self.topic.tail)[-1:]
            assert missed[-1:] != newest or not missed or self.topic.may_be_lost(newest[0]), "not the newest"
        else:
            assert not missed or not self.reliable, f"{missed} were lost"
            assert all(self.topic.may_be_lost(seq) for seq in missed), f"{missed} were lost too early: {self}"

    def _check_account(self, end: int) -> None:
        counters = (self.sub.received, self.sub.lost, self.sub.filtered)
        counted = sum(counters) - sum(self.base)
        expected = self.topic.committed(self.origin, end)
        settled = self.exact and self.topic.limit(self.origin) >= end  # always, but for conflating readers
        assert counted == expected or not settled, f"{counted} are accounted for, of {expected}"
        assert counters[1] == self.base[1] or not self.reliable

    def moved(self, position: int) -> None:
        """Start the account again after a seek. Conflated loans still open would count in the old one."""
        if self.conflate and self.topic.limit(self.origin) < self.position:
            self.exact = False
        self.position = self.passed = self.origin = position
        self.base = (self.sub.received, self.sub.lost, self.sub.filtered)
