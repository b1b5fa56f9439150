# SPDX-License-Identifier: Apache-2.0
"""Between the program's threads and the link's: messages to send, and calls that wait for a reply.

Everything here is under one lock; a bell (an eventfd) wakes the link's thread when there is something to do.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Any

from .. import error_codec, wire

Then = Callable[[Any, Exception | None], None]


class AfterBreak(Enum):
    """What becomes of a call without a reply on the next connection."""

    SEND_AGAIN = auto()
    FAIL = auto()  # sent again it could be done twice
    DROP = auto()  # it made sense on its own connection only


class Call:
    """A request or a publication: what is sent, and the reply."""

    def __init__(
        self, number: int, frames: wire.Frames, owner: object, after_break: AfterBreak, then: Then | None
    ):
        self.number, self.frames, self.owner, self._then = number, frames, owner, then
        self.after_break = after_break
        self.done = threading.Event()
        self.value: Any = None
        self.error: Exception | None = None
        self.reply: dict[str, Any] = {}

    def finish(self, reply: dict[str, Any], error: Exception | None = None) -> None:
        self.reply = reply
        self.error = error or (error_codec.from_json(reply) if "error" in reply else None)
        self.value = reply.get("value")
        if self._then is not None:
            self._then(self.value, self.error)
        self.done.set()


class RequestQueue:
    def __init__(self) -> None:
        self.connected = False
        self.bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._lock = (
            threading.RLock()
        )  # a handle may be collected, and put a message, while its own thread has it
        self._outbox: deque[wire.Frames] = deque()
        self._acks: dict[int, Callable[[], wire.Frames]] = {}
        self._calls: dict[int, Call] = {}

    # For the program's threads

    def put_call(self, call: Call) -> None:
        """Send a call, now or on the next connection."""
        with self._lock:
            self._calls[call.number] = call
            if self.connected:
                self._outbox.append(call.frames)
        self.ring()

    def forget(self, call: Call) -> None:
        with self._lock:
            self._calls.pop(call.number, None)

    def put_message(self, frames: wire.Frames) -> bool:
        """Send a message that needs no reply; False: there is no connection, and it is dropped."""
        with self._lock:
            if not self.connected:
                return False
            self._outbox.append(frames)
        self.ring()
        return True

    def acknowledge(self, handle: int, ack: Callable[[], wire.Frames]) -> None:
        """Send how far a subscriber has consumed: as of when it is sent, before all that is put here from now on."""
        if handle in self._acks:
            return  # `ack` is still to be called
        with self._lock:
            if not self.connected:
                return
            self._acks[handle] = ack
        self.ring()

    def calls_of(self, handle: object) -> list[Call]:
        with self._lock:
            return [call for call in self._calls.values() if call.owner is handle]

    def ring(self) -> None:
        with self._lock:
            if self.bell >= 0:
                os.eventfd_write(self.bell, 1)

    # For the link's thread

    def clear_bell(self) -> None:
        try:
            os.eventfd_read(self.bell)
        except BlockingIOError:
            return

    @property
    def has_messages(self) -> bool:
        return bool(self._outbox)

    def send(self, send: Callable[[wire.Frames], bool]) -> None:
        """Send as many messages as `send` takes now."""
        while True:
            with self._lock:
                acks = list(self._acks.values())
                self._acks.clear()
                message = self._outbox.popleft() if self._outbox and not acks else None
            if acks:
                self._outbox.extendleft([ack() for ack in acks])
            elif message is None:
                return
            elif not send(message):
                self._outbox.appendleft(message)
                return

    def answered(self, number: int) -> Call | None:
        with self._lock:
            return self._calls.pop(number, None)

    def connect(self, reopening: Iterable[Call]) -> list[Call]:
        """Open handles again first, then send the calls again. Return those that must not be sent twice."""
        with self._lock:
            self._calls = {
                number: call
                for number, call in self._calls.items()
                if call.after_break is not AfterBreak.DROP
            }
            unanswered = list(self._calls.values())
            for call in reopening:
                self._calls[call.number] = call
                self._outbox.append(call.frames)
            again = [call for call in unanswered if call.after_break is AfterBreak.SEND_AGAIN]
            self._outbox.extend(call.frames for call in again if call.owner is None)
            self.connected = True
        return [call for call in unanswered if call.after_break is AfterBreak.FAIL]

    def send_again(self, handle: object) -> None:
        """Send again what was sent through a handle and not answered: the handle is open again."""
        with self._lock:
            self._outbox.extend(call.frames for call in self._calls.values() if call.owner is handle)

    def disconnect(self) -> list[Call]:
        """Drop what was to be sent. Return the calls that are not answered."""
        with self._lock:
            self.connected = False
            self._outbox.clear()
            self._acks.clear()
            return list(self._calls.values())

    def close(self) -> None:
        with self._lock:
            os.close(self.bell)
            self.bell = -1
