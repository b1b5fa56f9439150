# SPDX-License-Identifier: Apache-2.0
"""Between the program's threads and the link's: letters to send, and calls that wait for an answer.

Everything here is under one lock; a bell (an eventfd) tells the link's thread that there is something to do.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import refusals, wire

if TYPE_CHECKING:
    from .handles import Handle

Then = Callable[[Any, Exception | None], None]


class Call:
    """Something asked of the server: what was sent, and the answer.

    again: whether it is asked again on the next connection; False: nobody would know whether it was done;
    None: it only made sense on this one.
    """

    def __init__(
        self, number: int, frames: wire.Frames, owner: Handle | None, again: bool | None, then: Then | None
    ):
        self.number, self.frames, self.owner, self.again, self._then = number, frames, owner, again, then
        self.done = threading.Event()
        self.value: Any = None
        self.error: Exception | None = None
        self.reply: dict[str, Any] = {}

    def finish(self, reply: dict[str, Any], error: Exception | None = None) -> None:
        self.reply = reply
        self.error = error or (refusals.from_json(reply) if "error" in reply else None)
        self.value = reply.get("value")
        if self._then is not None:
            self._then(self.value, self.error)
        self.done.set()


class Desk:
    def __init__(self) -> None:
        self.connected = False
        self.bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._lock = threading.RLock()  # a handle may be collected, and say so, while its own thread has it
        self._outbox: deque[wire.Frames] = deque()
        self._acks: dict[int, Callable[[], wire.Frames]] = {}
        self._calls: dict[int, Call] = {}

    # For the program's threads

    def ask(self, call: Call) -> None:
        with self._lock:
            self._calls[call.number] = call
            if self.connected:
                self._outbox.append(call.frames)
        self.ring()

    def forget(self, call: Call) -> None:
        with self._lock:
            self._calls.pop(call.number, None)

    def post(self, frames: wire.Frames) -> bool:
        """Send if there is a connection; else it does not matter any more."""
        with self._lock:
            if not self.connected:
                return False
            self._outbox.append(frames)
        self.ring()
        return True

    def acknowledge(self, handle: int, ack: Callable[[], wire.Frames]) -> None:
        """Post how far a subscriber has consumed, as it stands when it is sent: before any letter that is
        posted from now on."""
        if handle in self._acks:
            return  # `ack` is still to be called
        with self._lock:
            if not self.connected:
                return
            self._acks[handle] = ack
        self.ring()

    def calls_of(self, handle: Handle) -> list[Call]:
        with self._lock:
            return [call for call in self._calls.values() if call.owner is handle]

    def ring(self) -> None:
        with self._lock:
            if self.bell >= 0:
                os.eventfd_write(self.bell, 1)

    # For the link's thread

    def quiet(self) -> None:
        try:
            os.eventfd_read(self.bell)
        except BlockingIOError:
            return

    @property
    def has_letters(self) -> bool:
        return bool(self._outbox)

    def send(self, send: Callable[[wire.Frames], bool]) -> None:
        """As many letters as `send` takes now."""
        while True:
            with self._lock:
                acks = list(self._acks.values())
                self._acks.clear()
                letter = self._outbox.popleft() if self._outbox and not acks else None
            if acks:
                self._outbox.extendleft([ack() for ack in acks])
            elif letter is None:
                return
            elif not send(letter):
                self._outbox.appendleft(letter)
                return

    def answered(self, number: int) -> Call | None:
        with self._lock:
            return self._calls.pop(number, None)

    def connect(self, reopening: Iterable[Call | None]) -> list[Call]:
        """Handles are opened again first, then what was asked is asked again; what may not be is returned."""
        with self._lock:
            self._calls = {number: call for number, call in self._calls.items() if call.again is not None}
            asked = list(self._calls.values())
            for call in reopening:
                if call is not None:
                    self._calls[call.number] = call
                    self._outbox.append(call.frames)
            self._outbox.extend(call.frames for call in asked if call.again and call.owner is None)
            self.connected = True
        return [call for call in asked if not call.again]

    def ask_again(self, handle: Handle) -> None:
        """The handle is open again: what was asked through it is asked again."""
        with self._lock:
            self._outbox.extend(call.frames for call in self._calls.values() if call.owner is handle)

    def disconnect(self) -> list[Call]:
        """The calls that are not answered."""
        with self._lock:
            self.connected = False
            self._outbox.clear()
            self._acks.clear()
            return list(self._calls.values())

    def close(self) -> None:
        with self._lock:
            os.close(self.bell)
            self.bell = -1
