# SPDX-License-Identifier: Apache-2.0
"""A publisher on a remote bus.

Messages are numbered. A send waits for its reply, the sequence. When the connection breaks meanwhile, the same
numbers are sent again on the next one. The server records the last number it published, so it publishes what is
missing and nothing twice.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

from slipring._bus.bus import Bus
from slipring._bus.python_handle import PythonLoan, PythonPublisher, check_length
from slipring.errors import Closed, TooLarge

from .. import schemas, wire
from .connection import bridge_gone
from .link import Handle, Link
from .request_queue import AfterBreak, Call

_CHUNK_MESSAGES, _CHUNK_BYTES = 1024, 1 << 20
_LOOK_EVERY_S = 0.02


class RemotePublisher(PythonPublisher, Handle):
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
        check_length("sender", sender)
        self.topic, self.sender = topic, sender
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
        facts = self._link.request("publisher", then=self._opened, **self._opening)
        try:
            self._schema = schemas.stored(facts.get("schema"), topic)
        except BaseException:
            self.close()
            raise

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

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("this publisher is closed")
        self._link.check()

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def _is_reliable(self) -> bool:
        return self.reliable

    def _send(self, body: bytes, type: str, sender: str, time_ns: int | None, seconds: float | None) -> int:
        check_length("type", type)
        when_ns = time.time_ns() if time_ns is None else time_ns
        with self._lock:
            record = wire.Record(self._number + 1, when_ns, 0, 0, type, sender, body)
            return self._publish([record], seconds)

    def _send_many(self, bodies: list[bytes], type: str, seconds: float | None) -> int | None:
        check_length("type", type)
        self.check_size(max(map(len, bodies), default=0))
        deadline = None if seconds is None else time.monotonic() + seconds
        last = None
        with self._lock:
            for chunk in _chunks(bodies):
                now = time.time_ns()
                first = self._number + 1
                records = [
                    wire.Record(first + at, now, 0, 0, type, self.sender, body)
                    for at, body in enumerate(chunk)
                ]
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                last = self._publish(records, left)
        return last

    def send_numbered(self, records: list[wire.Record], seconds: float | None) -> None:
        """Publish records that have numbers already: a mirror's are sequences of its source."""
        self._check_open()
        with self._lock:
            self._publish(records, seconds)

    def check_size(self, size: int) -> None:
        """Of a body, or of all that is published at once."""
        limit = self._link.welcome["max_message"]
        if size > limit:
            text = f"a body of {size} bytes is more than the bridge's max_message of {limit}"
            raise TooLarge(text, argument="max_message")

    def _publish(self, records: list[wire.Record], seconds: float | None) -> int:
        self._check_open()
        self.check_size(sum(len(record.body) for record in records))
        number = self._link.number()
        frames = wire.with_records(
            wire.PUBLISH, number, self.handle, math.inf if seconds is None else seconds, records=records
        )
        self._number = max(self._number, records[-1].number)  # a number is used once, whatever becomes of it
        call = Call(number, frames, self, AfterBreak.SEND_AGAIN, None)
        waiting = None if seconds is None else seconds + self._link.address.connect_timeout_s
        try:
            self._link.call(call, waiting)
        finally:
            self.place = call.reply.get("place", self.place)
        return self.place["seq"]

    def set_upstream(self, upstream: list[str]) -> None:
        """Record where what is published here comes from, for the cycle checks of mirrors."""
        self._opening["upstream"] = upstream
        self._link.request("publisher", **self._opening)

    def _loan(self, size: int, type: str, timeout: float | None) -> RemoteLoan:
        return RemoteLoan(self, size, type, timeout)

    def _max_subscribers(self) -> int:
        self._subscribers()  # raises first an error of the topic or of this publisher
        most: int = self._link.request("stats", topic=self.topic)["max_readers"]
        return most

    def _await_subscribers(self, n: int, seconds: float | None, every_s: float = 0.02) -> bool:
        return super()._await_subscribers(n, seconds, every_s)

    def _subscribers(self) -> int:
        self._check_open()
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


class RemoteLoan(PythonLoan):
    """Memory of this process, sent at the end."""

    def _begin(self) -> bytearray:
        self._publisher.check_size(self._size)
        return bytearray(self._size)

    def _is_in_use(self) -> bool:
        # numpy's arrays may refer to memory without a lock on its size. The other two are ours, and the question's.
        return sys.getrefcount(self._memory) > 2

    def _commit(self) -> None:
        self._seq = self._publisher.send_raw(self._memory, self._type, self._timeout)


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
