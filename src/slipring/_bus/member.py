# SPDX-License-Identifier: Apache-2.0
"""Member: sends and receives on one topic, and does not hear itself unless it asks to.

On a reliable topic all members may send at once on a ring too small for all their messages. Each then waits for the
others to read. A member whose send finds no room therefore moves its own incoming messages into a local inbox, where
recv finds them: every member makes room, and all sends succeed.

One thread may send while another receives. Messages leave the ring under a lock, into the inbox or to a caller that
found the inbox empty, so that each receiver sees them in order. No thread holds the lock while it waits. A waiting
thread sleeps on the ring and on a bell, which is rung when messages were moved to the inbox.
"""

from __future__ import annotations

import math
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from slipring.errors import Closed, Full

from .closing import Closing
from .fork_locks import give_lock
from .publisher import BY_DELIVERY, Value
from .settings import natural, timeout_s
from .wait import INBOX_BELLS, inbox_bell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import RLock

    from typing_extensions import Buffer

    from .publisher import Publisher
    from .subscriber import Message, Subscriber

Found = TypeVar("Found")

_SLICE_S = 0.005
INBOX_BYTES = 256 << 20  # a member that only sends must not use all memory


class Member(Closing, Generic[Value]):
    """Sends and receives on one topic. Made by `Bus.join`. Member[Imu] sends and receives objects of the class Imu."""

    def __init__(self, publisher: Publisher[Value], subscriber: Subscriber[Value], *, reliable: bool) -> None:
        self._publisher = publisher
        self._reliable = reliable
        self.subscriber = subscriber
        self._inbox: deque[Message[Value]] = deque()
        self._inbox_bytes = 0
        self._lock: RLock
        give_lock(self)

    def send(self, body: Value, type: str = "", timeout: float | None = BY_DELIVERY) -> int:
        """Send to all other members; return the sequence. By default only reliable topics wait for room.

        body: any object with a buffer; on a typed topic, an object of its schema, which is encoded once."""
        codec = self._publisher._codec
        raw: Any = body if codec is None else codec.body(body, self.topic)
        return self.send_raw(raw, type, timeout)

    def send_raw(self, body: Buffer, type: str = "", timeout: float | None = BY_DELIVERY) -> int:
        """Send bytes as they are, on a typed topic too; see `send`."""
        if timeout is BY_DELIVERY:
            timeout = None if self._reliable else 0
        seconds = timeout_s(timeout)
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        patience = 0.0
        while True:
            try:
                return self._publisher.send_raw(body, type, patience)
            except Full:
                if self._inbox_bytes > INBOX_BYTES:
                    raise
                if self._take_in():
                    patience = 0.0
                    continue
                # no message of ours is in the way: wait for the others
                left = deadline - time.monotonic()
                if left <= 0:
                    raise
                patience = min(_SLICE_S, left)

    def _take_in(self) -> bool:
        """Move incoming messages from the ring to the inbox; return whether that made room."""
        with self._lock:
            before = self.subscriber.position
            # defect member_ignores_arrivals: messages: list[Message[Value]] = []
            messages = self.subscriber.recv_many(1024, 0)
            self._inbox.extend(messages)
            self._inbox_bytes += sum(len(message.body) for message in messages)
            made_room = self.subscriber.position != before
        if messages:
            INBOX_BELLS.ring()
        return made_room

    def _forget_inherited(self) -> None:
        self._inbox.clear()  # these are the parent's
        self._inbox_bytes = 0

    def recv(self, timeout: float | None = None) -> Message[Value] | None:
        """Return the next message of the others, or None after timeout."""
        if timeout == 0:
            return self._next(lambda: self.subscriber.recv(0))
        return self._until(timeout, self._next_here)

    def _next_here(self) -> Message[Value] | None:
        return self._next(self.subscriber._take_here)

    def _next(self, from_ring: Callable[[], Message[Value] | None]) -> Message[Value] | None:
        with self._lock:
            return self._from_inbox() if self._inbox else from_ring()

    def _from_inbox(self) -> Message[Value]:
        message = self._inbox.popleft()
        self._inbox_bytes -= len(message.body)
        return message

    def recv_many(self, n: int = 1024, timeout: float | None = 0) -> list[Message[Value]]:
        """Return up to n messages; waits at most timeout for the first."""
        n = natural("n", n)
        return self._until(timeout if n else 0, lambda: self._next_many(n)) or []

    def _next_many(self, n: int) -> list[Message[Value]]:
        with self._lock:
            taken = [self._from_inbox() for _ in range(min(n, len(self._inbox)))]
            if len(taken) < n or not n:
                taken += self.subscriber.recv_many(n - len(taken), 0)
            return taken

    def _until(self, timeout: float | None, take: Callable[[], Found]) -> Found:
        """Return what `take` finds, which is empty after timeout."""
        seconds = timeout_s(timeout)
        found = take()
        if found or seconds == 0:
            return found
        waits = self.subscriber._waits
        deadline = math.inf if seconds is None else waits.monotonic() + seconds
        with inbox_bell() as bell:
            while not found and (left := deadline - waits.monotonic()) > 0:
                rings = bell.rings()
                if not self._inbox:  # a later move rings the bell
                    waits.sleep((self,), None if left == math.inf else left, bell, rings)
                found = take()
        return found

    async def arecv(self, timeout: float | None = None) -> Message[Value] | None:
        """`recv` for asyncio."""
        return await self.subscriber._waits.until(self, timeout, self._next_here)

    def _ready(self) -> bool:
        return bool(self._inbox) or self.subscriber._ready()

    def _waited(self) -> Subscriber:
        return self.subscriber

    def __iter__(self) -> Iterator[Message[Value]]:
        while True:
            try:
                message = self.recv()
            except Closed:
                return
            if message is not None:
                yield message

    @property
    def sender(self) -> str:
        return self._publisher.sender

    @property
    def topic(self) -> str:
        return self._publisher.topic

    @property
    def closed(self) -> bool:
        return self._publisher.closed

    @property
    def lost(self) -> int:
        return self.subscriber.lost

    @property
    def received(self) -> int:
        with self._lock:
            return self.subscriber.received - len(self._inbox)

    @property
    def filtered(self) -> int:
        return self.subscriber.filtered

    @property
    def lag(self) -> int:
        with self._lock:
            return self.subscriber.lag + len(self._inbox)

    def stats(self) -> dict[str, Any]:
        """Return Subscriber.stats, and the number of messages in the inbox."""
        with self._lock:
            return {**self.subscriber.stats(), "inbox": len(self._inbox)}

    def close(self) -> None:
        """Leave the topic: waits end with Closed."""
        self._publisher.close()
        self.subscriber.close()

    def __repr__(self) -> str:
        return f"<Member {self.sender!r} of {self.topic!r}>"


Member.__module__ = "slipring"
