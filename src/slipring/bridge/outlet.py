# SPDX-License-Identifier: Apache-2.0
"""A remote subscription, on the server's side: a subscriber of the topic whose messages go to one client.

What was sent and not yet consumed is kept, and never exceeds the window: that is the flow control (a client
that does not read stops its own stream, and with it the publishers of a reliable topic, not the server's
memory), and it is what a client that lost its connection gets again.

On a reliable topic what was sent and not yet consumed also stays in the ring: publishers wait for the program
that reads, wherever it runs, not for the network's buffers.
"""

from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from slipring._bus.native import _native
from slipring.errors import SlipringError

from . import wire

if TYPE_CHECKING:
    from slipring._bus.subscriber import Subscriber

BATCH_MESSAGES = 256
BATCH_BYTES = 256 << 10
_MOST_BATCHES = 1024
_MOST_UNASKED = 64  # batches beyond the window that a conflating client has asked for and not acknowledged


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
    def __init__(
        self, number: int, subscriber: Subscriber, window: Window, conflate: bool, cursor: bool
    ) -> None:
        self.number, self.subscriber, self.window, self.conflate = number, subscriber, window, conflate
        self._may_keep = not conflate and not cursor  # a cursor keeps by itself, and until it is committed
        self._kept: int | None = None
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

    def has_failed(self) -> bool:
        """Whether reading, with or without room, would only give an error."""
        try:
            self.subscriber._ready()
        except SlipringError:
            return True
        return False

    @property
    def has_room(self) -> bool:
        if not self._sent:
            return True
        unfilled = self._messages < self.window.messages and self._bytes < self.window.bytes
        return unfilled and len(self._sent) < _MOST_BATCHES

    @property
    def may_exceed(self) -> bool:
        """A conflating subscription is sent the newest message when its client asks, room or not."""
        return self.conflate and len(self._sent) < _MOST_UNASKED

    def read(self, whatever: bool = False) -> wire.Frames | None:
        """The next batch, if there is something to tell and room for it; `whatever`: room or not."""
        if not (self.has_room or whatever):
            return None
        if self._may_keep and self._kept is None and self.subscriber._ready():
            self._begin_to_keep()
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

    def _begin_to_keep(self) -> None:
        # defect bridge_server_keeps_nothing: position, reliable = self.subscriber._counts()[3], False
        position, reliable = self.subscriber._counts()[3], self.subscriber._counts()[6]
        self._may_keep = reliable
        if reliable:
            _native.keep(self.subscriber, position)
            self._kept = position

    def acknowledge(self, epoch: int, position: int) -> None:
        """The client has consumed everything below position."""
        if epoch != self.epoch:
            return
        while self._sent and self._sent[0].end <= position:
            done = self._sent.popleft()
            self._messages -= done.messages
            self._bytes -= done.bytes
        if self._kept is not None and self._kept < position <= self._told:
            self._kept = position
            with contextlib.suppress(SlipringError):  # a removed topic: told by the next read
                _native.keep(self.subscriber, position)

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
        if self._kept is not None:
            self._begin_to_keep()

    def close(self) -> None:
        self.subscriber.close()
