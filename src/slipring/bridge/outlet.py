# SPDX-License-Identifier: Apache-2.0
"""A remote subscription, on the server's side: a subscriber of the topic whose messages go to one client.

What was sent and not yet consumed is kept, and never exceeds the window: that is the flow control (a client
that does not read stops its own stream, and with it the publishers of a reliable topic, not the server's
memory), and it is what a client that lost its connection gets again.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from slipring.errors import SlipringError

from . import wire

if TYPE_CHECKING:
    from slipring._bus.subscriber import Subscriber

BATCH_MESSAGES = 256
BATCH_BYTES = 256 << 10
_MOST_BATCHES = 1024


class Window(NamedTuple):
    """How much may be on its way: messages, and bytes (one message may exceed them, alone)."""

    messages: int = 1024
    bytes: int = 1 << 20


class _Sent(NamedTuple):
    begin: int
    end: int
    messages: int
    bytes: int
    frames: wire.Frames


class Outlet:
    def __init__(self, number: int, subscriber: Subscriber, window: Window, conflate: bool) -> None:
        self.number, self.subscriber, self.window, self.conflate = number, subscriber, window, conflate
        self.epoch = 0
        self.announced = subscriber.attached
        self._sent: deque[_Sent] = deque()
        self._messages = self._bytes = 0
        self._told = subscriber.position

    def has_news(self) -> bool:
        """Whether reading would give something, be it an error."""
        try:
            return self.subscriber._ready()
        except SlipringError:
            return True

    @property
    def has_room(self) -> bool:
        if not self._sent:
            return True
        unfilled = self._messages < self.window.messages and self._bytes < self.window.bytes
        return unfilled and len(self._sent) < _MOST_BATCHES

    def read(self, whatever: bool = False) -> wire.Frames | None:
        """The next batch, if there is something to tell and room for it; `whatever`: room or not."""
        if not (self.has_room or whatever):
            return None
        parcels: list[wire.Parcel] = []
        size = 0
        limit = 1 if self.conflate else min(BATCH_MESSAGES, self.window.messages)
        place: tuple[int, int, int, int] = (self._told, 0, 0, 0)
        while len(parcels) < limit and size < BATCH_BYTES:
            message = self.subscriber.recv(0)
            _, lost, filtered, position, tail, _, _ = self.subscriber._counts()
            if message is None and parcels:
                break  # what was passed over behind the last message is told by a batch of its own
            place = position, tail, lost, filtered
            if message is None:
                break
            body = message.body
            size += len(body)
            parcels.append(
                wire.Parcel(message.seq, message.time_ns, lost, filtered, message.type, message.sender, body)
            )
        if not parcels and place[0] == self._told:
            return None
        frames = wire.with_parcels(wire.BATCH, self.number, self.epoch, *place, parcels=parcels)
        self._sent.append(_Sent(self._told, place[0], len(parcels), size, frames))
        self._messages += len(parcels)
        self._bytes += size
        self._told = place[0]
        return frames

    def acknowledge(self, epoch: int, position: int) -> None:
        """The client has consumed everything below position."""
        while epoch == self.epoch and self._sent and self._sent[0].end <= position:
            done = self._sent.popleft()
            self._messages -= done.messages
            self._bytes -= done.bytes

    def resume(self, position: int) -> list[wire.Frames] | None:
        """What the client has not got, having got everything below position; None: that is not known here."""
        missing = [sent for sent in self._sent if sent.end > position]
        begin = missing[0].begin if missing else self._told
        return [sent.frames for sent in missing] if begin == position else None

    def seek(self, start: int, seq: int) -> None:
        self.subscriber._seek(start, seq)
        self.epoch += 1
        self._sent.clear()
        self._messages = self._bytes = 0
        self._told = self.subscriber.position

    def close(self) -> None:
        self.subscriber.close()
