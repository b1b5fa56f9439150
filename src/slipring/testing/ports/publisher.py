# SPDX-License-Identifier: Apache-2.0
"""Publisher of a stepped bus: it claims a sequence of the topic's ring, and commits or abandons it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from weakref import ref

from slipring._bus.python_handle import PythonLoan, PythonPublisher, check_length, text_size
from slipring.errors import Full, TooLarge

from ..ring.ring import Entry, reserved_bytes
from ..ring.topic import Topic
from .handle import Handle
from .lent_memory import Region, lend

if TYPE_CHECKING:
    from ..simulation import Simulation

_LARGEST = (1 << 32) - 1  # bytes of a body


class SteppedPublisher(PythonPublisher, Handle):
    """Made by `SteppedBus.publisher`."""

    kind = "publisher"

    def __init__(self, simulation: Simulation, topic: Topic, sender: str) -> None:
        self.topic = topic.name
        self.sender = sender
        check_length("sender", sender)
        super().__init__(simulation)
        self._topic = topic
        self._schema = topic.schema
        self._since = topic.ring.tail
        self._writer = topic.attach_writer(self._number, sender, simulation.clock.time_ns())
        self._begin()

    def _send(self, body: bytes, type: str, sender: str, time_ns: int | None, seconds: float | None) -> int:
        seq = self._claim(len(body), type, sender, seconds)
        self._commit(seq, body, time_ns)
        return seq

    def _send_many(self, bodies: list[bytes], type: str, seconds: float | None) -> int | None:
        self._check_topic(type)
        for body in bodies:
            self._reserve(len(body), type, self.sender)
        clock = self._simulation.clock
        deadline_ns = clock.deadline_ns(seconds)
        last = None
        for body in bodies:
            left = None if deadline_ns is None else max(0, deadline_ns - clock.monotonic_ns()) / 1e9
            last = self._send(body, type, self.sender, None, left)
        return last

    def _loan(self, size: int, type: str, timeout: float | None) -> SteppedLoan:
        return SteppedLoan(self, size, type, timeout)

    @property
    def _is_reliable(self) -> bool:
        return self._topic.reliable

    def _subscribers(self) -> int:
        self._check_open()
        self._topic.check()
        return sum(reader.alive and reader.index is not None for reader in self._topic.readers)

    def _max_subscribers(self) -> int:
        return self._topic.geometry.max_readers

    def _await_subscribers(self, n: int, seconds: float | None, every_s: float = 0) -> bool:
        what = f"wait_for_subscribers({n}) of '{self.topic}'"
        return self._simulation.scheduler.block(lambda: self._subscribers() >= n, seconds, what)

    def _entry(self) -> tuple[int, int]:
        self._check_open()
        return self._number, self._since

    # Claim, commit, abort

    def _check_topic(self, type: str) -> None:
        self._topic.check()
        check_length("type", type)

    def _reserve(self, size: int, type: str, sender: str) -> int:
        reserved = reserved_bytes(size, type, sender)
        if size > _LARGEST:
            text = (
                f"a body of {size} bytes is too large: a message has at most {_LARGEST} bytes at any capacity"
            )
            raise TooLarge(f"{text}; send it in parts, or use frames", argument="body")
        capacity = self._topic.geometry.capacity
        if reserved <= capacity:
            return reserved
        text = f"a body of {size} bytes needs {reserved} bytes, but the topic has capacity={capacity}"
        raise TooLarge(f"{text}: create it with a larger capacity=", argument="capacity")

    def _hold(self) -> int:
        return self._topic.hold(self._simulation.clock.time_ns())

    def _has_room(self, size: int, type: str) -> bool:
        self._check_open()
        self._topic.check()
        return self._topic.ring.has_room(self._reserve(size, type, self.sender), self._hold)

    def _claim(self, size: int, type: str, sender: str, wait_s: float | None) -> int:
        self._check_topic(type)
        entry = Entry(self._number, type, sender, self._reserve(size, type, sender))
        seq = self._topic.ring.claim(entry, self._hold)
        if seq is None and wait_s != 0:
            what = f"send on '{self.topic}'"
            if self._simulation.scheduler.block(lambda: self._has_room(size, type), wait_s, what):
                seq = self._topic.ring.claim(entry, self._hold)
        if seq is None:
            text = "the ring is full: a reader, a held message or a claim occupies it; wait longer (timeout=)"
            # defect stepped_full_names_capacity: raise Full(
            #     f"{text} or make the topic larger (capacity=, slots=)", argument="capacity")
            raise Full(f"{text} or make the topic larger (capacity=, slots=)", argument="timeout")
        self._pass_point("claimed")
        return seq

    def _commit(self, seq: int, content: bytes, time_ns: int | None) -> None:
        when_ns = self._simulation.clock.time_ns() if time_ns is None else time_ns
        self._topic.ring.commit(seq, content, when_ns)
        self._writer.published += 1
        self._writer.bytes += len(content)
        self._simulation.note(f"send {self.topic} {seq} by {self._label()}")
        self._simulation.settled(self._topic)
        self._pass_point("committed")

    def _abandon(self, seq: int) -> None:
        if seq in self._topic.ring.open:
            self._topic.ring.abandon(seq)
            self._simulation.note(f"abandon {self.topic} {seq} by {self._label()}")
            self._simulation.settled(self._topic)

    def _detach(self, *, orderly: bool) -> None:
        self._topic.detach_writer(self._writer, orderly=orderly)
        self._simulation.settled(self._topic)


class SteppedLoan(PythonLoan):
    """Memory to fill. While slices or arrays of it are alive, the claim stays open; it is abandoned then."""

    def _begin(self) -> Region:
        publisher = self._publisher
        text_size("type", self._type)
        seconds = publisher._patience(self._timeout)
        self._seq = publisher._claim(self._size, self._type, publisher.sender, seconds)
        return lend(self._size, partial(_abandon, ref(publisher), self._seq))

    def _is_in_use(self) -> bool:
        in_use: bool = self._memory.in_use(references=1)
        return in_use

    def _commit(self) -> None:
        assert self._seq is not None
        self._publisher._topic.check()
        self._memory.ended = None
        self._publisher._commit(self._seq, bytes(self._memory), None)


def _abandon(publisher: ref[SteppedPublisher], seq: int) -> None:
    alive = publisher()
    if alive is not None:
        alive._abandon(seq)
