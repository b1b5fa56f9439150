# SPDX-License-Identifier: Apache-2.0
"""What ties a subscriber to its topic: attaching when that appears, looking for messages, its place."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Self, SupportsIndex

from slipring._bus.subscriber import Account

from ..ring.reader import Options, Reader
from ..ring.topic import Topic
from .handle import Handle

if TYPE_CHECKING:
    from ..simulation import Simulation

Check = Callable[[Reader], None]


class Attachment(Account, Handle):
    """A subscriber without its ways of receiving."""

    kind = "subscriber"
    spin_us = 0.0
    _last_tail = 0

    def __init__(self, simulation: Simulation, topic: str, options: Options) -> None:
        self.topic = topic
        super().__init__(simulation)
        self._wish = options
        self._topic: Topic | None = None
        self._reader: Reader | None = None
        self._attach(is_new=False)
        self._begin()
        if self._reader is None:
            simulation.early[self._number] = self

    def _attach(self, *, is_new: bool) -> None:
        """To the topic, if there is one by now."""
        topic = self._simulation.topics.get(self.topic)
        if self._reader is not None or topic is None or self.closed:
            return
        now_ns = self._simulation.clock.time_ns()
        self._reader = topic.attach_reader(self._number, self._wish, is_new, now_ns)
        self._topic = topic
        self._simulation.early.pop(self._number, None)
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
        self._simulation.early.pop(self._number, None)
        if self._topic is not None and self._reader is not None:
            self._last_tail = self._reader.ring.tail
            self._topic.detach_reader(self._reader, self._simulation.clock.time_ns(), orderly=orderly)
