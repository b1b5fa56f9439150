# SPDX-License-Identifier: Apache-2.0
"""One stepped bus, shared by its handles: topics, clock, seed, deliveries in flight, and the trace of the run.

The trace has one line for everything that happens. Two runs of a program with the same seed have equal
traces.
"""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from slipring.errors import SlipringError, TopicExists, TopicNotFound

from .ring.topic import Topic
from .schedule.clock import VirtualClock
from .schedule.scheduler import Scheduler

if TYPE_CHECKING:
    from slipring._bus.wait import Waitable, Waits

    from .cells.cells import EndEntry, SteppedCells
    from .ring.reader import Reader
    from .schedule.aio import Ready, Sleepers

Item = TypeVar("Item")
Found = TypeVar("Found")


class Delivery(NamedTuple):
    """What a step did: message `seq` of `topic` reached a subscriber, or was lost on its way."""

    topic: str
    subscriber: int
    seq: int
    lost: bool


class Unattached(Protocol):
    """A subscriber whose topic does not exist yet."""

    def _attach(self, *, is_new: bool) -> None:
        """Attach to the topic if it exists."""


class Simulation:
    def __init__(self, seed: int | str, automatic: bool, start_ns: int) -> None:
        self.seed = seed
        self.automatic = automatic
        self.clock = VirtualClock(start_ns, self._sleep)
        self.scheduler = Scheduler(self)
        self.topics: dict[str, Topic] = {}
        self.cells: dict[str, SteppedCells] = {}
        self.trace: list[str] = []
        self.sleepers: Sleepers | None = None  # made when asyncio is used
        self.unattached: weakref.WeakValueDictionary[int, Unattached] = weakref.WeakValueDictionary()
        self._start_ns = start_ns
        # defect stepped_choice_by_hash_seed: self._random = random.Random(hash(str(seed)))
        self._random = random.Random(seed)
        self._numbers = 0
        self._generations = 0

    def number(self) -> int:
        """Return the number of a new handle; the first is 1."""
        self._numbers += 1
        return self._numbers

    def generation(self) -> int:
        self._generations += 1
        return self._generations

    def choose(self, items: Sequence[Item]) -> Item:
        """Choose by the seed. random() is the one method with results that Python keeps stable."""
        # defect stepped_first_choice_always: return items[0]
        return items[0] if len(items) == 1 else items[int(self._random.random() * len(items))]

    def note(self, event: str) -> None:
        self.trace.append(f"{self.clock.monotonic_ns() / 1e9:.9f} {event}")

    def topic(self, name: str) -> Topic:
        topic = self.topics.get(name)
        if topic is None:
            raise TopicNotFound(f"there is no topic '{name}' on this bus", argument="topic")
        return topic

    def check_kind(self, name: str, asked: str) -> None:
        """Refuse a name that belongs to the other kind."""
        other, taken = ("cells", name in self.cells) if asked == "topic" else ("topic", name in self.topics)
        if taken:
            text = f"the name '{name}' belongs to {other} on this bus, asked for {asked}: use another name"
            raise TopicExists(text, argument="topic", found=other, asked=asked)

    def topics_and_cells(self) -> list[Topic | SteppedCells]:
        """Return topics and cells, in a fixed order."""
        return [*self.topics.values(), *self.cells.values()]

    # Deliveries

    def pending(self) -> list[tuple[Topic | SteppedCells, Reader | EndEntry, int]]:
        """Return the next delivery of each subscriber that has one, in a fixed order."""
        self._attach_to_new_topics()
        return [
            (topic, reader, seq)
            for topic in self.topics_and_cells()
            for reader in topic.readers
            if reader.alive and (seq := reader.next_delivery()) is not None
        ]

    def _attach_to_new_topics(self) -> None:
        """Attach subscribers that are older than their topics. Messages sent meanwhile are in flight to them."""
        for _, subscriber in sorted(self.unattached.items()):
            try:
                subscriber._attach(is_new=True)
            except SlipringError:
                continue  # the subscriber raises it at its next use

    def deliver_one(self) -> Delivery | None:
        """Do the next delivery of one subscriber, chosen by the seed; return None if nothing is in flight."""
        pending = self.pending()
        return self._deliver(*self.choose(pending)) if pending else None

    def _deliver(self, topic: Topic | SteppedCells, reader: Reader | EndEntry, seq: int) -> Delivery:
        arrives = reader.deliver(seq)
        self.note(f"{'deliver' if arrives else 'lose'} {topic.name} {seq} to {reader.label}")
        self.changed()
        return Delivery(topic.name, reader.number, seq, not arrives)

    def settled(self, topic: Topic | SteppedCells) -> None:
        """Note that a claim was committed or abandoned, or an element put: an automatic bus delivers at once."""
        for reader in topic.readers if self.automatic else ():
            while reader.alive and (seq := reader.next_delivery()) is not None:
                self._deliver(topic, reader, seq)
        self.changed()

    def changed(self) -> None:
        """Wake asyncio tasks whose condition may be true now. The scheduler tests all other conditions."""
        if self.sleepers is not None:
            self.sleepers.look()

    # slipring.wait

    def monotonic(self) -> float:
        return self.clock.monotonic()

    def with_others(self) -> frozenset[Waits]:
        return frozenset((self,))  # its time is its own

    def sleep(
        self, items: tuple[Waitable, ...], timeout: float | None, bell: object = None, rings: int = 0
    ) -> None:
        names = ", ".join(f"'{item.topic}'" for item in items)
        self.scheduler.block(lambda: any(item._ready() for item in items), timeout, f"wait on {names}")

    async def until(
        self, item: Waitable, timeout: float | None, take: Callable[[], Found | None]
    ) -> Found | None:
        return await self.until_ready(item._ready, timeout, take)

    async def until_ready(
        self, ready: Ready, timeout: float | None, take: Callable[[], Found | None]
    ) -> Found | None:
        """Return what `take` finds, tried again whenever ready() is true; None on expiry."""
        from .schedule import aio  # asyncio is slow to import, and most tests do without

        if self.sleepers is None:
            self.sleepers = aio.Sleepers(self.scheduler)
        return await aio.until(self.sleepers, ready, timeout, take)

    # Time

    def _sleep(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        if seconds == 0:
            self.scheduler.give_way()
        else:
            self.scheduler.block(lambda: False, seconds, f"sleep({seconds})")

    def pass_time_to(self, monotonic_ns: int) -> None:
        if monotonic_ns > self.clock.monotonic_ns():
            self.clock._go_to(monotonic_ns)
            self.note("time")

    def expiries_ns(self) -> Iterator[int]:
        """Yield when cursors that hold messages expire, on the scale of monotonic_ns."""
        now_ns = self.clock.time_ns()
        for topic in self.topics.values():
            for cursor in topic.cursors.by_name.values():
                ends_ns = cursor.ends_ns()
                if ends_ns is not None and ends_ns > now_ns:
                    yield ends_ns - self._start_ns

    def advance(self, seconds: float) -> None:
        """Let time pass. Functions continue when their time-outs end; nothing is delivered."""
        end_ns = self.clock.deadline_ns(seconds) or 0
        self.scheduler.run_all()
        while self.clock.monotonic_ns() < end_ns:
            timer_ns = self.scheduler.next_timer_ns()
            self.pass_time_to(end_ns if timer_ns is None else min(end_ns, timer_ns))
            self.scheduler.run_all()
