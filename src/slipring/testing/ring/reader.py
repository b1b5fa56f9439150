# SPDX-License-Identifier: Apache-2.0
"""A subscriber's position in a topic, and its counts: received + lost + filtered = committed messages passed.

A message can be read once it was *delivered*. Deliveries have the order of sequences, one for each step of the bus;
`visible` is the sequence behind the last one. Messages older than the reader need no delivery. A message may also be
lost in flight (`losing`), or be overwritten in the ring, delivered or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from slipring._bus.settings import START_LAST, START_NEW, START_OLDEST, START_SEQ
from slipring.errors import BadArgument

from .ring import ABANDONED, COMMITTED, OPEN, Entry, Ring


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a subscriber, in the order of `SubscriberSettings`."""

    start: int
    start_seq: int
    lossy: int  # -1: as the topic is
    conflate: bool
    cursor: str | None
    expires_ns: int
    types: tuple[str, ...] | None
    ignore_types: tuple[str, ...]
    ignore_senders: tuple[str, ...]
    own: tuple[int, int] | None

    def passes(self, entry: Entry) -> bool:
        return (
            (self.types is None or entry.type in self.types)
            and entry.type not in self.ignore_types
            and entry.sender not in self.ignore_senders
            and not self.is_own(entry)
        )

    def is_own(self, entry: Entry) -> bool:
        """Whether the message was sent by the member that reads: it is hidden, and needs no delivery."""
        return self.own is not None and entry.writer == self.own[0]


class Reader:
    def __init__(
        self, number: int, ring: Ring, options: Options, *, index: int | None, reliable: bool
    ) -> None:
        self.number = number
        self.label = f"s{number}"
        self.ring = ring
        self.options = options
        self.index = index  # in the table of readers
        self.reliable = reliable
        self.alive = True
        self.received = self.lost = self.filtered = 0
        self.position = self.visible = 0
        self.held: Counter[int] = Counter()  # by views
        self.losing = 0
        self._missing: set[int] = set()  # not delivered: counted as lost when they are passed
        self._looked_from: int | None = None  # a conflating reader that has only looked holds on from here
        self._settled = 0  # a conflating reader has counted what it passed up to here …
        self._settled_messages = 0  # … in all, received or filtered

    # Positions

    def go_to(self, start: int, seq: int) -> None:
        ring = self.ring
        if start == START_SEQ and seq > ring.tail:
            text = f"start={seq} has not been published yet: the next sequence is {ring.tail}"
            raise BadArgument(text, argument="start")
        positions = {START_NEW: ring.tail, START_OLDEST: ring.oldest, START_SEQ: seq}
        self.position = ring.newest() if start == START_LAST else positions[start]
        self._looked_from = None
        self._catch_up()
        self.visible = max(self.visible, self.position)
        self._settled = self.position
        self._settled_messages = self.received + self.filtered

    def _catch_up(self) -> None:
        """Count overwritten messages as lost."""
        if self.position < self.ring.oldest:
            self.lost += self.ring.messages(self.position, self.ring.oldest)
            self.position = self.ring.oldest

    def holds(self) -> Iterator[int]:
        """Yield sequences that must not be overwritten."""
        yield from self.held
        if self.reliable and self.options.cursor is None:
            yield self.position if self._looked_from is None else self._looked_from

    # Deliveries

    def next_delivery(self) -> int | None:
        """Return the sequence to deliver next. Messages behind an open claim wait, to keep the order; a conflating
        reader passes the claim over."""
        # defect stepped_delivery_reordered: seq = max(self.visible + self.number % 2, self.ring.oldest)
        seq = max(self.visible, self.ring.oldest)
        while seq < self.ring.tail:
            entry = self.ring.entries[seq]
            if entry.state is COMMITTED and not self.options.is_own(entry):
                return seq
            if entry.state is OPEN and not self.options.conflate:
                return None
            seq += 1
        return None

    def deliver(self, seq: int) -> bool:
        """Deliver a message; return False if it is lost in flight."""
        self.visible = seq + 1
        if not self.losing:
            return True
        self.losing -= 1
        self._missing.add(seq)
        return False

    def lap(self, keep: int) -> int:
        """Lose all unread messages except the newest `keep`. Return how many."""
        unread = [
            seq
            for seq in range(max(self.position, self.ring.oldest), self.ring.tail)
            if self.ring.entries[seq].state is COMMITTED and seq not in self._missing
        ]
        gone = unread[: max(0, len(unread) - keep)]
        self._missing.update(gone)
        return len(gone)

    # Reading

    def peek(self) -> int | None:
        """Return the sequence of the message to receive next. Pass over filtered messages."""
        return self._peek_newest() if self.options.conflate else self._peek_next()

    def _peek_next(self) -> int | None:
        self._catch_up()
        # defect stepped_message_before_delivery: ring, end = self.ring, self.ring.tail
        ring, end = self.ring, min(self.visible, self.ring.tail)
        while self.position < ring.tail:
            entry = ring.entries[self.position]
            in_flight = entry.state is COMMITTED and self.position >= end and not self.options.is_own(entry)
            if entry.state is OPEN or in_flight:
                return None
            if entry.state is COMMITTED:
                if self.position in self._missing:
                    self._missing.discard(self.position)
                    # defect stepped_injected_loss_uncounted: pass
                    self.lost += 1
                elif self.options.passes(entry):
                    return self.position
                else:
                    self.filtered += 1
            self.position += 1
        return None

    def _peek_newest(self) -> int | None:
        ring, end = self.ring, min(self.visible, self.ring.tail)
        while end < ring.tail and self._needs_no_delivery(ring.entries[end]):
            end += 1
        resume = end  # not past a claim that may yet be committed
        for seq in range(end - 1, max(self.position, ring.oldest) - 1, -1):
            entry = ring.entries[seq]
            if entry.state is OPEN:
                resume = seq
            elif entry.state is COMMITTED and seq not in self._missing and self.options.passes(entry):
                self._looked_from = self.position if self._looked_from is None else self._looked_from
                self.position = seq
                return seq
        self._looked_from = None
        self.position = max(self.position, resume)
        return None

    def _needs_no_delivery(self, entry: Entry) -> bool:
        return entry.state is not COMMITTED or self.options.is_own(entry)

    def accept(self) -> Entry:
        """Receive the message that `peek` found."""
        entry = self.ring.entries[self.position]
        self.position += 1
        self.received += 1
        self._looked_from = None
        return entry

    def settle(self) -> None:
        """Count the messages that a conflating reader passed over. Open claims count once they are settled."""
        if not self.options.conflate:
            return
        ring = self.ring
        while self._settled < self.position:
            seq = self._settled
            if seq < ring.oldest:
                self._settled = min(ring.oldest, self.position)
                self._settled_messages += ring.messages(seq, self._settled)
                continue
            state = ring.entries[seq].state
            if state is OPEN:
                break
            if seq in self._missing:
                self._missing.discard(seq)
                self.lost += 1
            elif state is not ABANDONED:
                self._settled_messages += 1
            self._settled += 1
        # defect stepped_conflated_counted_lost: self.lost = max(self.lost, self._settled_messages - self.received)
        self.filtered = max(self.filtered, self._settled_messages - self.received)
