# SPDX-License-Identifier: Apache-2.0
"""Member: sends and receives on one topic, and does not hear itself unless it asks to.

On a reliable topic all members may send at once on a ring too small for all their messages. Each then waits
for the others to read. A member whose send finds no room therefore moves its own incoming messages into a
local inbox, where recv finds them: everybody makes room, and all sends go through.
"""

from __future__ import annotations

import math
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from slipring.errors import Full

from .closing import Closing
from .settings import natural, timeout_s

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

    from .publisher import Publisher
    from .subscriber import Message, Subscriber

BY_DELIVERY: Final = -1.0  # the default time-out: for ever on reliable topics, none on lossy ones
_SLICE_S = 0.005
INBOX_BYTES = 256 << 20  # a member that only ever sends must not eat all memory


class Member(Closing):
    """Made by `Bus.join`."""

    def __init__(self, publisher: Publisher, subscriber: Subscriber, *, reliable: bool) -> None:
        self._publisher = publisher
        self._reliable = reliable
        self.subscriber = subscriber
        self._inbox: deque[Message] = deque()
        self._inbox_bytes = 0

    def send(self, body: Buffer, type: str = "", timeout: float | None = BY_DELIVERY) -> int:
        """Send to all other members. timeout as in Publisher.send: by default only reliable topics wait."""
        if timeout is BY_DELIVERY:
            timeout = None if self._reliable else 0
        seconds = timeout_s(timeout)
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        patience = 0.0
        while True:
            try:
                return self._publisher.send(body, type, patience)
            except Full:
                if self._inbox_bytes > INBOX_BYTES:
                    raise
                if self._take_in():
                    patience = 0.0
                    continue
                # Nothing of ours in the way: wait for the others.
                left = deadline - time.monotonic()
                if left <= 0:
                    raise
                patience = min(_SLICE_S, left)

    def _take_in(self) -> bool:
        """Move what has come in from the ring to the inbox; True if that made room."""
        before = self.subscriber.position
        # defect member_ignores_arrivals: messages: list[Message] = []
        messages = self.subscriber.recv_many(1024, 0)
        self._inbox.extend(messages)
        self._inbox_bytes += sum(len(message.body) for message in messages)
        return self.subscriber.position != before

    def recv(self, timeout: float | None = None) -> Message | None:
        """The next message of the others, or None on expiry."""
        if self._inbox:
            return self._from_inbox()
        return self.subscriber.recv(timeout)

    def _from_inbox(self) -> Message:
        message = self._inbox.popleft()
        self._inbox_bytes -= len(message.body)
        return message

    def recv_many(self, n: int = 1024, timeout: float | None = 0) -> list[Message]:
        """Up to n messages; waits at most timeout for the first."""
        taken = [self._from_inbox() for _ in range(min(natural("n", n), len(self._inbox)))]
        if len(taken) < n:
            taken += self.subscriber.recv_many(n - len(taken), 0 if taken else timeout)
        return taken

    async def arecv(self, timeout: float | None = None) -> Message | None:
        """`recv` for asyncio."""
        if self._inbox:
            return self._from_inbox()
        return await self.subscriber.arecv(timeout)

    def _ready(self) -> bool:
        return bool(self._inbox) or self.subscriber._ready()

    def _waited(self) -> Subscriber:
        return self.subscriber

    def __iter__(self) -> Iterator[Message]:
        while self._inbox:
            yield self._from_inbox()
        yield from self.subscriber

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
        return self.subscriber.received - len(self._inbox)

    @property
    def filtered(self) -> int:
        return self.subscriber.filtered

    @property
    def lag(self) -> int:
        return self.subscriber.lag + len(self._inbox)

    def stats(self) -> dict[str, Any]:
        """As Subscriber.stats, and how many messages wait in the inbox."""
        return {**self.subscriber.stats(), "inbox": len(self._inbox)}

    def close(self) -> None:
        """Leave: waits end with Closed."""
        self._publisher.close()
        self.subscriber.close()

    def __repr__(self) -> str:
        return f"<Member {self.sender!r} of {self.topic!r}>"


Member.__module__ = "slipring"
