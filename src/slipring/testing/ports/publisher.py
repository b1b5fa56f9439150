# SPDX-License-Identifier: Apache-2.0
"""Publisher of a stepped bus: the methods and errors of `slipring.Publisher`."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, SupportsIndex
from weakref import ref

from slipring._bus.closing import Unpicklable
from slipring._bus.publisher import wanted_subscribers
from slipring._bus.settings import timeout_s
from slipring.errors import Closed, Full, TooLarge

from ..ring.ring import Entry, reserved_bytes
from ..ring.topic import Topic
from .arguments import body_bytes, body_list, check_length, size_number, text_bytes
from .handle import Handle
from .lent_memory import Region, lend

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ..simulation import Simulation

_LARGEST = (1 << 32) - 1  # bytes of a body
BY_DELIVERY = -1.0  # the default time-out: for ever on reliable topics, none on lossy ones


class SteppedPublisher(Handle):
    """Made by `SteppedBus.publisher`."""

    kind = "publisher"

    def __init__(self, simulation: Simulation, topic: Topic, sender: str) -> None:
        self.topic = topic.name
        self.sender = sender
        check_length("sender", sender)
        super().__init__(simulation)
        self._topic = topic
        self._since = topic.ring.tail
        self._writer = topic.attach_writer(self._number, sender, simulation.clock.time_ns())
        self._begin()

    def send(self, body: Buffer, type: str = "", timeout: float | None = BY_DELIVERY) -> int:
        """Send one message; its sequence."""
        self._check_open()
        text_bytes("type", type)
        wait_s = self._patience(timeout)
        content = body_bytes(body)
        return self._send(content, type, self.sender, None, wait_s)

    def send_many(
        self, bodies: Iterable[Buffer], type: str = "", timeout: float | None = BY_DELIVERY
    ) -> int | None:
        """Send many; the last one's sequence."""
        given = body_list(bodies)
        self._check_open()
        text_bytes("type", type)
        wait_s = self._patience(timeout)
        contents = [body_bytes(body) for body in given]
        self._check_topic(type)
        for content in contents:
            self._reserve(len(content), type, self.sender)
        deadline_ns = self._simulation.clock.deadline_ns(wait_s)
        last = None
        for content in contents:
            if deadline_ns is not None:
                wait_s = max(0, deadline_ns - self._simulation.clock.monotonic_ns()) / 1e9
            last = self._send(content, type, self.sender, None, wait_s)
        return last

    def loan(self, size: SupportsIndex, type: str = "", timeout: float | None = BY_DELIVERY) -> SteppedLoan:
        """A context manager: memory to fill in place."""
        return SteppedLoan(self, size_number(size), type, timeout)

    def wait_for_subscribers(self, n: int = 1, timeout: float | None = None) -> bool:
        """Wait until at least n subscribers are attached; False on expiry."""
        n = wanted_subscribers(n, self._topic.geometry.max_readers)
        seconds = timeout_s(timeout)
        what = f"wait_for_subscribers({n}) of '{self.topic}'"
        return self._simulation.scheduler.block(lambda: self._subscribers() >= n, seconds, what)

    def _subscribers(self) -> int:
        self._check_open()
        self._topic.check()
        return sum(reader.alive and reader.index is not None for reader in self._topic.readers)

    def _entry(self) -> tuple[int, int]:
        self._check_open()
        return self._number, self._since

    def _send_as(
        self, body: Buffer, type: str, sender: str, time_ns: int, timeout: float | None = BY_DELIVERY
    ) -> int:
        """Pass on another's message."""
        self._check_open()
        text_bytes("type", type)
        check_length("sender", sender)
        return self._send(body_bytes(body), type, sender, time_ns, self._patience(timeout))

    # Claim, commit, abort

    def _patience(self, timeout: float | None) -> float | None:
        if timeout is BY_DELIVERY:
            return None if self._topic.reliable else 0
        return timeout_s(timeout)

    def _check_topic(self, type: str) -> None:
        self._topic.check()
        check_length("type", type)

    def _reserve(self, size: int, type: str, sender: str) -> int:
        reserved = reserved_bytes(size, type, sender)
        if size > _LARGEST:
            text = f"a body of {size} bytes is larger than a message can be, {_LARGEST} bytes, whatever the capacity"
            raise TooLarge(f"{text}: send it in parts, or use frames", argument="body")
        if reserved <= self._topic.geometry.capacity:
            return reserved
        needs = f"a body of {size} bytes needs {reserved}, more than the topic's capacity of"
        text = f"{needs} {self._topic.geometry.capacity}: create it with a larger capacity="
        raise TooLarge(text, argument="capacity")

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
            text = (
                "the ring is full: a reader, a held message or a claim is in the way; wait longer (timeout=)"
            )
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

    def _send(self, content: bytes, type: str, sender: str, time_ns: int | None, wait_s: float | None) -> int:
        seq = self._claim(len(content), type, sender, wait_s)
        self._commit(seq, content, time_ns)
        return seq

    def _detach(self, *, orderly: bool) -> None:
        self._topic.detach_writer(self._writer, orderly=orderly)
        self._simulation.settled(self._topic)

    def __repr__(self) -> str:
        state = " closed" if self.closed else ""
        return f"<Publisher {self.topic!r} sender={self.sender!r}{state}>"


class SteppedLoan(Unpicklable):
    """Memory to fill. Leaving the block commits, an exception aborts. If slices or arrays of the memory are alive
    then, nothing is sent: the claim stays open until they are gone, and is abandoned then."""

    def __init__(self, publisher: SteppedPublisher, size: int, type: str, timeout: float | None) -> None:
        self._publisher = publisher
        self._size = size
        self._type = type
        self._timeout = timeout
        self._seq: int | None = None
        self._region: Region | None = None
        self._view: memoryview | None = None

    @property
    def seq(self) -> int | None:
        """The message's sequence, once entered."""
        return self._seq

    def __enter__(self) -> memoryview:
        if self._seq is not None:
            raise RuntimeError("a loan is used once: ask for another")
        publisher = self._publisher
        publisher._check_open()
        text_bytes("type", self._type)
        wait_s = publisher._patience(self._timeout)
        seq = publisher._claim(self._size, self._type, publisher.sender, wait_s)
        owner = ref(publisher)

        def ended() -> None:
            alive = owner()
            if alive is not None:
                alive._abandon(seq)

        self._seq = seq
        self._region = lend(self._size, ended)
        self._view = memoryview(self._region)
        return self._view

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        region, self._region = self._region, None
        if region is None or self._seq is None:
            return
        self._release()
        publisher = self._publisher
        if kind is not None:
            return
        if publisher.closed:
            raise Closed("this publisher is closed")
        if region.in_use(references=1):
            text = (
                "nothing was sent: slices or arrays of the loan are still in use and could change the message"
            )
            raise BufferError(f"{text}; delete them before the block ends")
        publisher._topic.check()
        region.ended = None
        publisher._commit(self._seq, bytes(region), None)

    def _release(self) -> None:
        view, self._view = self._view, None
        if view is not None:
            with suppress(BufferError):  # an array was made from the view itself: the region knows
                view.release()
