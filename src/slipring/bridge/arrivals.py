# SPDX-License-Identifier: Apache-2.0
"""What has arrived for a remote subscriber, and its account.

Each message comes with the server's counts as of that message, so that what the program has read adds up
exactly at every moment, however far ahead the server reads. When the server's subscriber is replaced (another
server process, a seek), its counts begin anew: the difference is kept as a base.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from slipring._bus.subscriber import Message

from . import wire


class Place(NamedTuple):
    """A position, and what was lost and filtered before it."""

    position: int = 0
    lost: int = 0
    filtered: int = 0


class _Arrival(NamedTuple):
    message: Message | None  # None: only the place moved
    place: Place


class Arrivals:
    def __init__(self, topic: str, conflate: bool) -> None:
        self._topic, self._conflate = topic, conflate
        self._queue: deque[_Arrival] = deque()
        self._base = Place()
        self._messages = 0
        self.epoch = 0
        self.arrived = Place()  # as far as the server has told
        self.read = Place()  # as far as the program has read
        self.received = self.conflated = self.tail = 0

    def begin(self, facts: dict[str, Any], *, forget: bool) -> None:
        """The server's subscriber is a new one, or elsewhere: its counts before it came here are not ours.

        forget: what has arrived is not read any more.
        """
        known = self.read if forget else self.arrived
        self.epoch, self.tail = facts["epoch"], facts["tail"]
        self._base = Place(0, known.lost - facts["lost_before"], known.filtered - facts["filtered_before"])
        place = self._placed(facts["position"], facts["lost"], facts["filtered"])
        if forget:
            self._queue.clear()
            self._messages = 0
            self.read = place
        elif place != self.arrived:
            self._queue.append(_Arrival(None, place))
        self.arrived = place

    def _placed(self, position: int, lost: int, filtered: int) -> Place:
        return Place(position, self._base.lost + lost, self._base.filtered + filtered)

    def arrive(self, numbers: tuple[int, ...], parcels: list[wire.Parcel]) -> None:
        """A batch: its parcels, then the place behind them."""
        _, epoch, position, tail, lost, filtered = numbers
        if epoch != self.epoch:
            return
        for number, time_ns, lost_then, filtered_then, type, sender, body in parcels:
            message = Message(body, sender, type, number, time_ns, self._topic)
            if self._conflate:
                self._conflate_away()
            self._queue.append(_Arrival(message, self._placed(number + 1, lost_then, filtered_then)))
            self._messages += 1
        self.arrived = self._placed(position, lost, filtered)
        self.tail = tail
        if not parcels:
            self._queue.append(_Arrival(None, self.arrived))

    def drop(self) -> None:
        """What was not read of a topic that is gone is not read any more."""
        self._queue.clear()
        self._messages = 0

    @property
    def consumed(self) -> int:
        """Everything below was read, or passed over with nothing to read before it."""
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
        """The next message; places before it are read."""
        while self._queue and self._queue[0].message is None:
            self.read = self._queue.popleft().place
        return self._queue[0].message if self._queue else None

    def take(self) -> Message | None:
        message = self.peek()
        if message is not None:
            self.read = self._queue.popleft().place
            self._messages -= 1
            self.received += 1
        return message
