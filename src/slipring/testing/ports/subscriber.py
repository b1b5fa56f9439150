# SPDX-License-Identifier: Apache-2.0
"""Subscriber of a stepped bus: attached to its topic as soon as that exists, with a position and counts there."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, SupportsIndex

from slipring._bus.python_handle import Held, PythonSubscriber, refuse_for_room
from slipring._bus.subscriber import Message
from slipring.errors import Busy, TooManyReaders

from ..ring.reader import Options, Reader
from ..ring.topic import Topic
from .handle import Handle
from .lent_memory import show

if TYPE_CHECKING:
    from slipring._bus.typed.subscriber_reading import Reading

    from ..simulation import Simulation

Check = Callable[[Reader], None]
_MAX_VIEWS = 256


class SteppedSubscriber(PythonSubscriber, Handle):
    """Made by `SteppedBus.subscriber`; usable before the topic exists."""

    kind = "subscriber"
    _last_tail = 0

    def __init__(self, simulation: Simulation, topic: str, options: Options, reading: Reading) -> None:
        self.topic = topic
        self._reading = reading
        super().__init__(simulation)
        self._options = options
        self._topic: Topic | None = None
        self._reader: Reader | None = None
        self._attach(is_new=False)
        self._begin()
        if self._reader is None:
            simulation.unattached[self._number] = self

    def _attach(self, *, is_new: bool) -> None:
        """Attach to the topic if it exists."""
        topic = self._simulation.topics.get(self.topic)
        if self._reader is not None or topic is None or self.closed:
            return
        self._read_schema(topic.schema)  # raises before anything is changed
        now_ns = self._simulation.clock.time_ns()
        self._reader = topic.attach_reader(self._number, self._options, is_new, now_ns)
        self._topic = topic
        self._simulation.unattached.pop(self._number, None)
        self._simulation.settled(topic)

    @property
    def attached(self) -> bool:
        """Whether the topic exists yet."""
        return self._reader is not None and not self.closed

    # Looking

    def _enter(self) -> Reader | None:
        self._check_open()
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
        return self._simulation.scheduler.block(found, seconds, what) or found()

    @property
    def _waits(self) -> Simulation:
        return self._simulation

    # Receiving

    def _next(self, seconds: float | None, call: str, room: int | None = None) -> Message | None:
        def check(reader: Reader) -> None:
            seq = reader.peek()
            size = 0 if seq is None else len(reader.ring.entries[seq].body)
            if room is not None and size > room:
                refuse_for_room(size, room)

        reader = self._find(seconds, call, check)
        if reader is None:
            return None
        seq = reader.position
        entry = reader.accept()
        self._note_received(seq)
        self._pass_point("received")
        return self._message(entry.body, entry.sender, entry.type, seq, entry.time_ns, self.topic)

    def _note_received(self, seq: int) -> None:
        self._simulation.note(f"receive {self.topic} {seq} by {self._label()}")

    def _hold(self, seconds: float | None) -> Held | None:
        reader = self._find(seconds, "view", _check_can_hold)
        if reader is None:
            return None
        seq = reader.position
        reader.held[seq] += 1

        def ended() -> None:
            reader.held[seq] -= 1
            reader.held += Counter()  # drops what is not held any longer

        entry = reader.accept()
        body = memoryview(show(entry.body, ended))
        self._note_received(seq)
        message = self._message(body, entry.sender, entry.type, seq, entry.time_ns, self.topic)
        self._pass_point("held")

        def release() -> None:
            with suppress(BufferError):  # what was made from it keeps the message held
                body.release()

        return Held(message, release)

    # Positions

    def _seek(self, start: int, seq: int, /) -> None:
        reader = self._enter()
        if reader is None or self._topic is None:
            return
        reader.go_to(start, seq)
        cursor = self._topic.cursors.of(reader)
        if cursor is not None and reader.reliable:
            reader.position = max(reader.position, cursor.position)
        self._simulation.settled(self._topic)

    def commit(self, seq: SupportsIndex | None = None, /) -> None:
        """Move the cursor to seq, or past everything received."""
        reader = self._enter()
        if reader is not None and self._topic is not None:
            position = None if seq is None else operator.index(seq)
            self._topic.cursors.commit(reader, position, self._simulation.clock.time_ns())
            self._simulation.note(f"commit {self.topic} by {self._label()}")

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
        self._simulation.unattached.pop(self._number, None)
        if self._topic is not None and self._reader is not None:
            self._last_tail = self._reader.ring.tail
            self._topic.detach_reader(self._reader, self._simulation.clock.time_ns(), orderly=orderly)


def _check_can_hold(reader: Reader) -> None:
    if reader.index is None:
        text = (
            "this subscriber has no entry in the full reader table, so it cannot hold a message: use recv(),"
        )
        raise TooManyReaders(f"{text} or create the topic with more max_readers=", argument="max_readers")
    if sum(reader.held.values()) >= _MAX_VIEWS:
        raise Busy(f"{_MAX_VIEWS} messages are already held: release some")
