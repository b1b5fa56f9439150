# SPDX-License-Identifier: Apache-2.0
"""A publisher on a remote bus.

Messages are numbered. A send waits for its reply, the sequence. When the connection breaks meanwhile, the same
numbers are sent again on the next one. The server records the last number it published, so it publishes what is
missing and nothing twice.
"""

from __future__ import annotations

import math
import operator
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from slipring._bus.bus import Bus
from slipring._bus.closing import Closing
from slipring._bus.native import _native
from slipring._bus.publisher import wanted_subscribers
from slipring._bus.settings import timeout_s
from slipring.errors import BadArgument, Closed, TooLarge

from .. import wire
from .connection import bridge_gone
from .link import Handle, Link
from .request_queue import Call

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Buffer

BY_DELIVERY: Final = -1.0
_CHUNK_MESSAGES, _CHUNK_BYTES = 1024, 1 << 20
_LOOK_EVERY_S = 0.02


def _body(body: Buffer) -> bytes:
    return body if isinstance(body, bytes) else _native.body_bytes(body)


def _text(argument: str, value: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be str, not {type(value).__name__}")
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        raise BadArgument(f"{argument} is not valid text: {error.reason}", argument=argument) from None
    if size > wire.MOST_NAME_BYTES:
        text = f"{argument} has {size} bytes, at most {wire.MOST_NAME_BYTES}"
        raise BadArgument(text, argument=argument)
    return value


class RemotePublisher(Handle, Closing):
    """As slipring.Publisher, over a bridge. Made by `Bus.publisher`."""

    def __init__(
        self,
        bus: Bus,
        link: Link,
        topic: str,
        sender: str,
        settings: dict[str, Any],
        *,
        origin: str | None = None,
        upstream: list[str] | None = None,
    ) -> None:
        super().__init__(link)
        self._bus = bus  # which closes the link when nothing refers to it
        self.topic, self.sender = topic, _text("sender", sender)
        self._durable = origin is not None
        self._opening: dict[str, Any] = {
            "handle": self.handle,
            "topic": topic,
            "sender": sender,
            "settings": settings,
            "origin": origin or f"client:{self._link.client.hex()}:{self.handle}",
            "upstream": upstream,
            "generation": None,
        }
        self._lock = threading.Lock()  # one publication at a time
        self._closed = False
        self.reliable = False
        self.place: dict[str, int] = {}
        self._link.request("publisher", then=self._opened, **self._opening)

    # Opening, and opening again on another connection: the link's thread

    def _opened(self, facts: Any, error: Exception | None) -> None:
        if error is None:
            self.reliable, self.place = facts["reliable"], facts["place"]
            self._opening |= {"generation": facts["generation"], "settings": {}}
            self._number = self.place["number"]
            self._link.handles[self.handle] = self

    def reopening(self) -> Call:
        return self._link.reopening_call("publisher", self._opening, self._reopened)

    def _reopened(self, facts: Any, error: Exception | None) -> None:
        if error is None and facts["place"]["number"] < self.place["number"]:
            error = bridge_gone(
                self._link.address, "it has forgotten this publisher, and what it published last"
            )
        if error is None:
            self._link.queue.send_again(self)
            return
        for call in self._link.queue.calls_of(self):
            call.finish({}, error)

    # For the program

    def _check(self) -> None:
        if self._closed:
            raise Closed("this publisher is closed")
        self._link.check()

    @property
    def closed(self) -> bool:
        return self._closed

    def send(self, body: Buffer, type: str = "", timeout: float | None = BY_DELIVERY) -> int:
        """Send one message; its sequence."""
        return self._send_as(body, type, self.sender, time.time_ns(), timeout)

    def _send_as(
        self, body: Buffer, type: str, sender: str, time_ns: int, timeout: float | None = BY_DELIVERY
    ) -> int:
        record = wire.Record(0, time_ns, 0, 0, _text("type", type), sender, _body(body))
        self._check()  # before the lock, which a forked child may find taken forever
        with self._lock:
            return self._publish([record._replace(number=self._number + 1)], self._seconds(timeout))

    def send_many(
        self, bodies: Iterable[Buffer], type: str = "", timeout: float | None = BY_DELIVERY
    ) -> int | None:
        """Send many; the last one's sequence."""
        if isinstance(bodies, (str, bytes, bytearray, memoryview)):
            raise TypeError("bodies must be a sequence of bodies, not one: use send()")
        copies = [_body(body) for body in bodies]
        self._check()
        _text("type", type)
        self.check_size(max(map(len, copies), default=0))
        seconds = self._seconds(timeout)
        deadline = time.monotonic() + seconds
        last = None
        with self._lock:
            for chunk in _chunks(copies):
                now = time.time_ns()
                first = self._number + 1
                records = [
                    wire.Record(first + at, now, 0, 0, type, self.sender, body)
                    for at, body in enumerate(chunk)
                ]
                last = self._publish(records, max(0.0, deadline - time.monotonic()))
        return last

    def send_numbered(self, records: list[wire.Record], timeout: float | None = None) -> dict[str, int]:
        """Publish what has numbers already (a mirror's are sequences); where this origin stands then."""
        self._check()
        with self._lock:
            self._publish(records, self._seconds(timeout))
        return self.place

    def _seconds(self, timeout: float | None) -> float:
        if timeout is BY_DELIVERY:
            timeout = None if self.reliable else 0
        seconds = timeout_s(timeout)
        return math.inf if seconds is None else seconds

    def check_size(self, size: int) -> None:
        """Of a body, or of all that is published at once."""
        limit = self._link.welcome["max_message"]
        if size > limit:
            text = f"a body of {size} bytes is more than the bridge's max_message of {limit}"
            raise TooLarge(text, argument="max_message")

    def _publish(self, records: list[wire.Record], seconds: float) -> int:
        self._check()
        self.check_size(sum(len(record.body) for record in records))
        number = self._link.number()
        frames = wire.with_records(wire.PUBLISH, number, self.handle, seconds, records=records)
        self._number = max(self._number, records[-1].number)  # a number is used once, whatever becomes of it
        call = Call(number, frames, self, True, None)
        waiting = None if math.isinf(seconds) else seconds + self._link.address.connect_timeout_s
        try:
            self._link.call(call, waiting)
        finally:
            self.place = call.reply.get("place", self.place)
        return self.place["seq"]

    def set_upstream(self, upstream: list[str]) -> None:
        """Record where what is published here comes from, for the cycle checks of mirrors."""
        self._opening["upstream"] = upstream
        self._link.request("publisher", **self._opening)

    def loan(self, size: int, type: str = "", timeout: float | None = BY_DELIVERY) -> Loan:
        """A context manager: memory to fill, sent at its end."""
        return Loan(self, size, type, timeout)

    def wait_for_subscribers(self, n: int = 1, timeout: float | None = None) -> bool:
        """Wait until at least n subscribers are attached; False on expiry."""
        self._subscribers()  # raises first what is wrong with the topic or with this publisher
        n = wanted_subscribers(n, self._link.request("stats", topic=self.topic)["max_readers"])
        seconds = timeout_s(timeout)
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        while self._subscribers() < n:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_EVERY_S)
        return True

    def _subscribers(self) -> int:
        self._check()
        count: int = self._link.request("subscribers", owner=self, handle=self.handle)
        return count

    def _entry(self) -> tuple[int, int]:
        return self.handle, 0

    def close(self) -> None:
        """Detach."""
        if self._closed:
            return
        self._closed = True
        if self._link.is_forked:
            return
        for call in self._link.queue.calls_of(self):
            call.finish({}, Closed("this publisher is closed"))
        self._link.leave(self, "close_publisher", forget=not self._durable)

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self._link.abandon(self, "close_publisher", forget=not self._durable)

    def __repr__(self) -> str:
        state = " closed" if self._closed else ""
        return f"<RemotePublisher {self.topic!r} sender={self.sender!r}{state}>"


class Loan:
    """pub.loan(): the shape of a loan in shared memory, on memory of one's own."""

    def __init__(self, publisher: RemotePublisher, size: int, type: str, timeout: float | None) -> None:
        try:
            number = operator.index(size)
        except TypeError:
            raise TypeError("size must be an integer number of bytes") from None
        if number < 0:
            raise BadArgument("size must be at least 0 and fit the address space", argument="size")
        self._publisher, self._size, self._type, self._timeout = publisher, number, type, timeout
        self._memory: bytearray | None = None
        self._used = False
        self.seq: int | None = None

    def __enter__(self) -> memoryview:
        if self._used:
            raise RuntimeError("a loan is used once: ask for another")
        self._publisher._check()
        self._publisher.check_size(self._size)
        self._used = True
        self._memory = bytearray(self._size)
        self._view = memoryview(self._memory)
        return self._view

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        memory, self._memory = self._memory, None
        if memory is None:
            return
        try:
            self._view.release()
            memory.append(0)  # refused while slices or arrays of it live
        except BufferError:
            if kind is None:
                raise BufferError(
                    "nothing was sent: slices or arrays of the loan are still in use and could change the "
                    "message; delete them before the block ends"
                ) from None
            return
        if kind is None:
            del memory[-1:]
            self.seq = self._publisher.send(memory, self._type, self._timeout)


def _chunks(bodies: list[bytes]) -> Iterable[list[bytes]]:
    chunk: list[bytes] = []
    size = 0
    for body in bodies:
        if chunk and (len(chunk) >= _CHUNK_MESSAGES or size + len(body) > _CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(body)
        size += len(body)
    if chunk:
        yield chunk
