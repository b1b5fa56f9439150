# SPDX-License-Identifier: Apache-2.0
"""The messages that have arrived for a remote subscriber, and its counts.

Each message comes with the server's counts as of that message. So received + lost + filtered adds up exactly at
every moment, however far ahead the server reads. When the server's subscriber is replaced (another server process,
a seek), its counts start again from zero: the difference is kept as a base.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from slipring._bus.subscriber import Message

from .. import wire


class Counts(NamedTuple):
    """A position, and what was lost and filtered before it."""

    position: int = 0
    lost: int = 0
    filtered: int = 0


class _Arrival(NamedTuple):
    message: Message | None  # None: only the position moved
    counts: Counts


class Arrivals:
    def __init__(self, topic: str, conflate: bool) -> None:
        self._topic, self._conflate = topic, conflate
        self._queue: deque[_Arrival] = deque()
        self._base = Counts()
        self._messages = 0
        self.epoch = 0
        self.arrived = Counts()  # as of the last batch
        self.read = Counts()  # as far as the program has read
        self.received = self.conflated = self.tail = 0

    def begin(self, facts: dict[str, Any], *, forget: bool) -> None:
        """Begin with another subscriber or another position at the server. Its counts until now are not counted here.

        forget: drop messages that have arrived and were not read.
        """
        known = self.read if forget else self.arrived
        self.epoch, self.tail = facts["epoch"], facts["tail"]
        self._base = Counts(0, known.lost - facts["lost_before"], known.filtered - facts["filtered_before"])
        counts = self._counts_at(facts["position"], facts["lost"], facts["filtered"])
        if forget:
            self._queue.clear()
            self._messages = 0
            self.read = counts
        elif counts != self.arrived:
            self._queue.append(_Arrival(None, counts))
        self.arrived = counts

    def _counts_at(self, position: int, lost: int, filtered: int) -> Counts:
        return Counts(position, self._base.lost + lost, self._base.filtered + filtered)

    def arrive(self, numbers: tuple[int, ...], records: list[wire.Record]) -> None:
        """Add a batch: its records, then the counts behind them."""
        _, epoch, position, tail, lost, filtered = numbers
        if epoch != self.epoch:
            return
        for number, time_ns, lost_then, filtered_then, type, sender, body in records:
            message = Message(body, sender, type, number, time_ns, self._topic)
            if self._conflate:
                self._conflate_away()
            self._queue.append(_Arrival(message, self._counts_at(number + 1, lost_then, filtered_then)))
            self._messages += 1
        self.arrived = self._counts_at(position, lost, filtered)
        self.tail = tail
        if not records:
            self._queue.append(_Arrival(None, self.arrived))

    def drop(self) -> None:
        """Drop what was not read."""
        self._queue.clear()
        self._messages = 0

    @property
    def consumed(self) -> int:
        """The position below which every message was read or passed over."""
        return self.read.position if self._messages else self.arrived.position

    def _conflate_away(self) -> None:
        self.conflated += self._messages
        self._messages = 0
        self._queue.clear()

    @property
    def has_message(self) -> bool:
        return self._messages > 0

    @property
    def is_empty(self) -> bool:
        return not self._queue

    def peek(self) -> Message | None:
        """Return the next message, and move the position to it."""
        while self._queue and self._queue[0].message is None:
            self.read = self._queue.popleft().counts
        return self._queue[0].message if self._queue else None

    def take(self) -> Message | None:
        message = self.peek()
        if message is not None:
            self.read = self._queue.popleft().counts
            self._messages -= 1
            self.received += 1
        return message
