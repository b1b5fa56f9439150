# SPDX-License-Identifier: Apache-2.0
"""A remote subscription, on the server's side: a subscriber of the topic whose messages go to one client.

What was sent and is not yet consumed is kept here. It never exceeds the window, so a client that does not read stops
its own stream, and with it the publishers of a reliable topic; it does not fill the server's memory. A client that
lost its connection gets it again.

On a reliable topic the same messages also stay in the ring: publishers wait for the remote program to consume them,
not for the network to take them.
"""

from __future__ import annotations

import contextlib
from collections import deque
from typing import NamedTuple

from slipring._bus.native import _native
from slipring._bus.subscriber import Subscriber
from slipring.errors import SlipringError

from .. import wire
from ..wire import Window

BATCH_MESSAGES = 256
BATCH_BYTES = 256 << 10
_MOST_BATCHES = 1024
_MOST_BEYOND = 64  # batches beyond the window, which a conflating client has asked for and not acknowledged


class _Sent(NamedTuple):
    begin: int
    end: int
    messages: int
    bytes: int
    frames: wire.Frames


class ServerSubscription:
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
        self._sent_to = subscriber.position

    def is_readable(self) -> bool:
        """Whether reading would give something: a message or an error."""
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
        """Whether the window has room for a batch."""
        if not self._sent:
            return True
        unfilled = self._messages < self.window.messages and self._bytes < self.window.bytes
        return unfilled and len(self._sent) < _MOST_BATCHES

    @property
    def may_exceed_window(self) -> bool:
        """A conflating subscription is sent the newest message when its client asks, beyond the window too."""
        return self.conflate and len(self._sent) < _MOST_BEYOND

    def read(self, beyond_window: bool = False) -> wire.Frames | None:
        """Return the next batch, or None: there is nothing to send, or the window has no room for it."""
        if not (self.has_room or beyond_window):
            return None
        if self._may_keep and self._kept is None and self.subscriber._ready():
            self._begin_to_keep()
        records: list[wire.Record] = []
        size = 0
        limit = 1 if self.conflate else min(BATCH_MESSAGES, self.window.messages)
        progress: tuple[int, int, int, int] = (self._sent_to, 0, 0, 0)  # position, tail, lost, filtered
        while len(records) < limit and size < BATCH_BYTES:
            message = self.subscriber.recv(0)
            _, lost, filtered, position, tail, _, _ = self.subscriber._counts()
            if message is None and records:
                break  # what was passed over behind the last message gets a batch of its own
            progress = position, tail, lost, filtered
            if message is None:
                break
            body = message.body
            size += len(body)
            records.append(
                wire.Record(message.seq, message.time_ns, lost, filtered, message.type, message.sender, body)
            )
        if not records and progress[0] == self._sent_to:
            return None
        frames = wire.with_records(wire.BATCH, self.number, self.epoch, *progress, records=records)
        self._sent.append(_Sent(self._sent_to, progress[0], len(records), size, frames))
        self._messages += len(records)
        self._bytes += size
        self._sent_to = progress[0]
        return frames

    def _begin_to_keep(self) -> None:
        # defect bridge_server_keeps_nothing: position, reliable = self.subscriber._counts()[3], False
        position, reliable = self.subscriber._counts()[3], self.subscriber._counts()[6]
        self._may_keep = reliable
        if reliable:
            _native.keep(self.subscriber, position)
            self._kept = position

    def acknowledge(self, epoch: int, position: int) -> None:
        """Forget what the client has consumed: everything below position."""
        if epoch != self.epoch:
            return
        while self._sent and self._sent[0].end <= position:
            done = self._sent.popleft()
            self._messages -= done.messages
            self._bytes -= done.bytes
        if self._kept is not None and self._kept < position <= self._sent_to:
            self._kept = position
            with contextlib.suppress(SlipringError):  # a removed topic: the next read raises
                _native.keep(self.subscriber, position)

    def resume(self, position: int) -> list[wire.Frames] | None:
        """Return the batches that the client lacks, having all below position; None: that is not known here."""
        missing = [sent for sent in self._sent if sent.end > position]
        begin = missing[0].begin if missing else self._sent_to
        return [sent.frames for sent in missing] if begin == position else None

    def seek(self, start: int, seq: int) -> None:
        self.subscriber._seek(start, seq)
        self.epoch += 1
        self._sent.clear()
        self._messages = self._bytes = 0
        self._sent_to = self.subscriber.position
        if self._kept is not None:
            self._begin_to_keep()

    def close(self) -> None:
        self.subscriber.close()
