# SPDX-License-Identifier: Apache-2.0
"""An answer in parts. A stream runs until its credit or its client's room is used up. Then it stops, without a
thread, until there is more: a client that does not read costs nothing but the suspended generator.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import Enum, auto
from typing import Any

from .. import envelope
from .client_replies import pieces
from .method_call import CURRENT, Encode, MethodCall, report, too_large

_PARTS_AT_ONCE = 64  # then other calls have their turn


class Stopped(Enum):
    """Why a stream stopped."""

    DONE = auto()
    CREDIT = auto()
    ROOM = auto()
    TURN = auto()


class ServerStream:
    def __init__(self, call: MethodCall, values: Iterator[Any] | None, encode: Encode) -> None:
        self._call, self._values, self._encode = call, values, encode
        self._messages: Iterator[bytes] = iter(())
        self._next: bytes | None = None
        self._last = False
        self.credit = call.window
        self.starved = False  # waits for credit

    @property
    def next(self) -> bytes | None:
        """What is to be sent next."""
        return self._next

    def grant(self, messages: int) -> bool:
        """Add credit; True if the stream waited for it and is to be run."""
        with self._call.lock:
            self.credit += messages
            wake, self.starved = self.starved, False
            return wake

    def run(self) -> Stopped:
        """Send as much as possible; for generators, in a worker's thread."""
        assert self._values is not None
        for _ in range(_PARTS_AT_ONCE):
            stopped = self.flush()
            if stopped is not None:
                return stopped
            self._load()
        return Stopped.TURN

    def flush(self) -> Stopped | None:
        """Send what is loaded; None when the next part may be loaded."""
        call = self._call
        while self._next is not None:
            if call.cancelled:
                return self._stop()
            if not self._last:
                with call.lock:
                    # defect stream_ignores_credit: if self.credit <= -100_000:
                    if self.credit <= 0:
                        self.starved = True
                        return Stopped.CREDIT
            if not call.caller.send(self._next):
                return Stopped.ROOM
            self.credit -= 0 if self._last else 1
            self._next = next(self._messages, None)
        return self._stop() if self._last or call.cancelled else None

    def _load(self) -> None:
        """Make the next messages: of a value, or the end."""
        call = self._call
        try:
            value = self._encode(self._pull())
        except StopIteration:
            self.finish(envelope.end(call.req_id))
        except BaseException as error:  # noqa: BLE001 - anything that a method raises belongs to its caller
            self.finish(envelope.error(call.req_id, report(call, error)))
        else:
            self.set_value(value)

    def set_value(self, value: bytes | memoryview) -> None:
        call = self._call
        if call.max_answer and len(value) > call.max_answer:
            self.finish(envelope.error(call.req_id, too_large(len(value), call.max_answer)))
            return
        self._messages = pieces(call, value, part=True)
        self._next = next(self._messages)

    def finish(self, message: bytes) -> None:
        self._messages, self._next, self._last = iter(()), message, True

    def _pull(self) -> Any:
        token = CURRENT.set(self._call)
        try:
            return next(self._values)  # type: ignore[arg-type]
        finally:
            CURRENT.reset(token)

    def _stop(self) -> Stopped:
        """End the generator, whose own clean-up runs now."""
        self._next, values = None, self._values
        self._values = iter(())
        close = getattr(values, "close", None)
        if close is not None:
            with contextlib.suppress(BaseException):  # no caller is left to get it
                close()
        return Stopped.DONE
