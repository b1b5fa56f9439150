# SPDX-License-Identifier: Apache-2.0
"""Subscriber of a stepped bus: the methods and errors of `slipring.Subscriber`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, SupportsIndex, TypeVar

from slipring._bus.native import _native
from slipring._bus.settings import timeout_s
from slipring._bus.subscriber import Message
from slipring.errors import BadArgument, Closed

from ..ring.reader import Reader
from .arguments import count_number
from .attachment import Attachment
from .view import SteppedView

if TYPE_CHECKING:
    import pyarrow
    from typing_extensions import Buffer


Check = Callable[[Reader], None]
Found = TypeVar("Found")


class SteppedSubscriber(Attachment):
    """Made by `SteppedBus.subscriber`; usable before the topic exists."""

    def _take(self, reader: Reader) -> Message:
        seq = reader.position
        entry = reader.accept()
        self._note_received(seq)
        self._pass_point("received")
        return Message(entry.body, entry.sender, entry.type, seq, entry.time_ns, self.topic)

    def _note_received(self, seq: int) -> None:
        self._simulation.note(f"receive {self.topic} {seq} by {self._label()}")

    def recv(self, timeout: float | None = None) -> Message | None:
        """The next message, or None on expiry."""
        seconds = timeout_s(timeout)
        reader = self._find(seconds, "recv")
        return None if reader is None else self._take(reader)

    def _take_here(self) -> Message | None:
        return self.recv(0)

    def recv_into(self, buffer: Buffer, timeout: float | None = None) -> Message | None:
        """The next message, its body copied into buffer."""
        seconds = timeout_s(timeout)
        _native.check_target(buffer)
        room = memoryview(buffer).cast("B")

        def check(reader: Reader) -> None:
            seq = reader.peek()
            size = 0 if seq is None else len(reader.ring.entries[seq].body)
            if size > room.nbytes:
                text = f"buffer has {room.nbytes} bytes, the next message {size}: use a larger buffer"
                raise BadArgument(text, argument="buffer")

        reader = self._find(seconds, "recv_into", check)
        if reader is None:
            return None
        message = self._take(reader)
        size = len(message.body)
        room[:size] = message.body
        return Message(room[:size], message.sender, message.type, message.seq, message.time_ns, message.topic)

    def recv_many(self, n: SupportsIndex = 1024, timeout: float | None = 0) -> list[Message]:
        """Up to n messages; waits at most timeout for the first."""
        seconds = timeout_s(timeout)
        limit = count_number(n)
        messages: list[Message] = []
        while len(messages) < limit:
            reader = self._find(0 if messages else seconds, "recv_many")
            if reader is None:
                break
            messages.append(self._take(reader))
        return messages

    def recv_batch(self, n: SupportsIndex = 65536, timeout: float | None = 0) -> pyarrow.RecordBatch:
        """Up to n messages as one Arrow batch; waits at most timeout for the first."""
        from .batch import receive

        return receive(self, n, timeout)

    def view(self, timeout: float | None = None) -> SteppedView:
        """A context manager: the next message, held until exit."""
        return SteppedView(self, timeout)

    async def arecv(self, timeout: float | None = None) -> Message | None:
        """`recv` for asyncio."""
        return await self._until(timeout, lambda: self.recv(0))

    async def _until(self, timeout: float | None, take: Callable[[], Found | None]) -> Found | None:
        """What `take` finds here, or None on expiry."""
        return await self._simulation.until_ready(self._ready, timeout, take)

    def __iter__(self) -> Iterator[Message]:
        return self

    def __next__(self) -> Message:
        try:
            message = self.recv(None)
        except Closed:
            message = None
        if message is None:
            raise StopIteration
        return message
