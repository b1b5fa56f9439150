# SPDX-License-Identifier: Apache-2.0
"""One call that waits for its answer: pieces are put together, and whoever waits is woken."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from typing import TYPE_CHECKING, Final

from slipring.errors import (
    BadArguments,
    Corrupt,
    Full,
    PeerGone,
    RemoteError,
    SlipringError,
    Timeout,
    TooLarge,
    UnknownMethod,
)

from .messages import Chunk, End, Error, Part, Payload, Reason, Result

if TYPE_CHECKING:
    import asyncio

Bytes = bytes | memoryview


def error_of(error: Error, method: str) -> SlipringError:
    """The exception for an Error message."""
    _, kind, message, trace = error
    if error.reason == Reason.UNKNOWN_METHOD:
        return UnknownMethod(message or f"the server has no method '{method}'", argument="method")
    if error.reason == Reason.BAD_ARGUMENTS:
        return BadArguments(message or f"'{method}' does not take these arguments", argument="arguments")
    if error.reason == Reason.TOO_LARGE:
        return TooLarge(message or "the answer is larger than max_answer", argument="max_answer")
    if error.reason == Reason.GONE:
        return PeerGone("the server closed before it answered", argument="service")
    if error.reason == Reason.FULL:
        return Full(message or "the server has no room for this call")
    return RemoteError(message, type=kind, traceback=trace)


class Pending:
    """A call under way. Fed by whoever reads the replies, watched by the caller."""

    __slots__ = (
        "_announced", "_chunks", "_gathered", "chunked", "ended", "error", "future", "instance", "max_answer",
        "method", "paid", "req_id", "taken", "values", "waiter", "window",
    )  # fmt: skip

    def __init__(self, req_id: int, instance: int, method: str, max_answer: int, window: int) -> None:
        self.req_id: Final = req_id
        self.instance: Final = instance
        self.method: Final = method
        self.max_answer: Final = max_answer
        self.window: Final = window  # 0: one answer
        self.values: deque[Bytes] = deque()  # whole values that nobody has taken yet
        self.error: BaseException | None = None
        self.ended = False  # nothing more will come
        self.chunked = 0  # chunks moved out of the way, by the reader
        self.taken = 0  # parts taken by the program
        self.paid = 0  # how many of both were given back as credit
        self.waiter: threading.Lock | None = None  # of a thread that follows
        self.future: asyncio.Future[None] | None = None
        self._chunks: list[Bytes] = []
        self._gathered = 0
        self._announced = 0

    @property
    def ready(self) -> bool:
        return self.ended or bool(self.values)

    def feed(self, payload: Payload) -> None:
        """One message of the server with this call's number."""
        if self.ended:
            return
        if type(payload) is Result:
            self._whole(payload.value)
            self.ended = True
        elif isinstance(payload, Chunk):
            self._piece(payload)
        elif isinstance(payload, Part) and self.window:
            self._whole(payload.value)
        elif isinstance(payload, End) and self.window:
            self.ended = True
        elif isinstance(payload, Error):
            self.fail(error_of(payload, self.method))
        else:
            self.fail(Corrupt(f"the server answered with {type(payload).__name__}"))

    def _whole(self, value: Bytes) -> None:
        if self._chunks:
            self._chunks.append(value)
            if self._gathered + len(value) != self._announced:
                self.fail(Corrupt("the pieces of an answer do not add up to its size"))
                return
            value = b"".join(self._chunks)
            self._chunks, self._gathered = [], 0
        if self.max_answer and len(value) > self.max_answer:
            self.fail(self._too_large(len(value)))
        else:
            self.values.append(value)

    def _piece(self, chunk: Chunk) -> None:
        self._announced = chunk.total
        self._gathered += len(chunk.data)
        if self.max_answer and chunk.total > self.max_answer:
            self.fail(self._too_large(chunk.total))
        elif self._gathered > chunk.total:
            self.fail(Corrupt("the pieces of an answer do not add up to its size"))
        else:
            self._chunks.append(chunk.data)
            self.chunked += 1

    def _too_large(self, size: int) -> TooLarge:
        return TooLarge(
            f"the answer has {size} bytes, max_answer is {self.max_answer}: raise it, or use stream()",
            argument="max_answer",
        )

    @property
    def owed(self) -> int:
        """Credit that is worth a message: half a window of it."""
        owed = self.chunked + self.taken - self.paid
        return owed if not self.ended and 2 * owed >= self.window else 0

    def fail(self, error: BaseException) -> None:
        if not self.ended:
            self.error = error
            self._chunks.clear()
            self.ended = True

    def late(self) -> Timeout:
        return Timeout(f"'{self.method}' was not answered in time", argument="timeout")

    def wake(self) -> None:
        """Let whoever waits look again."""
        waiter, future = self.waiter, self.future
        if waiter is not None and waiter.locked():
            with contextlib.suppress(RuntimeError):  # another thread has just woken it
                waiter.release()
        if future is not None:
            with contextlib.suppress(RuntimeError):  # its loop is closed: nobody waits
                future.get_loop().call_soon_threadsafe(_resolve, future)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
