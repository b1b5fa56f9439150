# SPDX-License-Identifier: Apache-2.0
"""Subscriber of a stepped bus: the methods and errors of `slipring.Subscriber`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Self, SupportsIndex

from slipring._bus.account import Account
from slipring._bus.settings import timeout_s
from slipring._bus.subscriber import Message
from slipring.errors import BadArgument, Closed

from .buffers import count_number
from .handle import Handle
from .reader import Reader, Wish
from .topic import Topic
from .view import SteppedView

if TYPE_CHECKING:
    import pyarrow
    from typing_extensions import Buffer

    from .world import World

Check = Callable[[Reader], None]


class SteppedSubscriber(Account, Handle):
    """Made by `SteppedBus.subscriber`; usable before the topic exists."""

    kind = "subscriber"
    spin_us = 0.0

    _last_tail = 0

    def __init__(self, world: World, topic: str, wish: Wish) -> None:
        self.topic = topic
        super().__init__(world)
        self._wish = wish
        self._topic: Topic | None = None
        self._reader: Reader | None = None
        self._attach(is_new=False)
        self._begin()
        if self._reader is None:
            world.early[self._number] = self

    def _attach(self, *, is_new: bool) -> None:
        """To the topic, if there is one by now."""
        topic = self._world.topics.get(self.topic)
        if self._reader is not None or topic is None or self.closed:
            return
        now_ns = self._world.clock.time_ns()
        self._reader = topic.attach_reader(self._number, self._wish, is_new, now_ns)
        self._topic = topic
        self._world.early.pop(self._number, None)
        self._world.settled(topic)

    @property
    def attached(self) -> bool:
        """Whether the topic exists yet."""
        return self._reader is not None and not self.closed

    # Receiving

    def _enter(self) -> Reader | None:
        self._check_life()
        if self._reader is None:
            self._attach(is_new=True)
        if self._topic is not None:
            self._topic.check()
        return self._reader

    def _ready(self) -> bool:
        """Whether recv(0) would return something."""
        reader = self._enter()
        return reader is not None and reader.peek() is not None

    def _find(self, seconds: float | None, call: str, check: Check | None = None) -> Reader | None:
        """The reader, with a message peeked; None when the time is up."""

        def found() -> bool:
            reader = self._enter()
            if reader is not None and check is not None:
                check(reader)
            return reader is not None and reader.peek() is not None

        if found() or (seconds != 0 and self._wait(found, seconds, call)):
            return self._reader
        return None

    def _wait(self, found: Callable[[], bool], seconds: float | None, call: str) -> bool:
        what = f"{call} on '{self.topic}'"
        return self._world.scheduler.block(found, seconds, what) or found()

    def _take(self, reader: Reader) -> Message:
        seq = reader.position
        entry = reader.accept()
        self._note_received(seq)
        self._pass_point("received")
        return Message(entry.body, entry.sender, entry.type, seq, entry.time_ns, self.topic)

    def _note_received(self, seq: int) -> None:
        self._world.note(f"receive {self.topic} {seq} by {self._label()}")

    def recv(self, timeout: float | None = None) -> Message | None:
        """The next message, or None on expiry."""
        seconds = timeout_s(timeout)
        reader = self._find(seconds, "recv")
        return None if reader is None else self._take(reader)

    def recv_into(self, buffer: Buffer, timeout: float | None = None) -> Message | None:
        """The next message, its body copied into buffer."""
        seconds = timeout_s(timeout)
        view = memoryview(buffer)
        if view.readonly or not view.c_contiguous:
            raise BufferError("buffer must be writable and contiguous")
        room = view.cast("B")

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
        from .aio import receive

        return await receive(self, self._world, timeout)

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

    @property
    def _waits(self) -> World:
        return self._world

    def _waited(self) -> Self:
        return self

    # Places

    def _seek(self, start: int, seq: int, /) -> None:
        reader = self._enter()
        if reader is None or self._topic is None:
            return
        reader.go_to(start, seq)
        cursor = self._topic.cursors.of(reader)
        if cursor is not None and reader.reliable:
            reader.position = max(reader.position, cursor.position)
        self._world.settled(self._topic)

    def commit(self, seq: SupportsIndex | None = None, /) -> None:
        """Move the cursor to seq, or past everything received."""
        reader = self._enter()
        if reader is not None and self._topic is not None:
            position = None if seq is None else operator.index(seq)
            self._topic.cursors.commit(reader, position, self._world.clock.time_ns())
            self._world.note(f"commit {self.topic} by {self._label()}")

    def _counts(self) -> tuple[int, int, int, int, int, int, bool]:
        reader = self._reader
        if reader is None:
            return 0, 0, 0, 0, 0, -1, False
        if reader.alive:
            reader.settle()
        tail = self._last_tail if self.closed else reader.ring.tail
        index = -1 if reader.index is None else reader.index
        return reader.received, reader.lost, reader.filtered, reader.position, tail, index, reader.reliable

    def _detach(self, *, orderly: bool) -> None:
        self._world.early.pop(self._number, None)
        if self._topic is not None and self._reader is not None:
            self._last_tail = self._reader.ring.tail
            self._topic.detach_reader(self._reader, self._world.clock.time_ns(), orderly=orderly)
