# SPDX-License-Identifier: Apache-2.0
"""SteppedBus: a bus in one process that a test drives step by step."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast

from slipring._bus.bus import Bus
from slipring._bus.settings import timeout_s
from slipring.errors import BadArgument, Closed, TopicExists

from . import faults
from .clock import START_NS
from .cursors import check_name as check_cursor
from .geometry import Geometry
from .handle import Handle
from .member import SteppedMember
from .publisher import SteppedPublisher
from .reader import Wish
from .subscriber import SteppedSubscriber
from .tasks import Task
from .topic import Topic
from .world import Delivery, World

if TYPE_CHECKING:
    from slipring._bus.publisher import Publisher
    from slipring._bus.subscriber import Subscriber

Result = TypeVar("Result")


class SteppedBus(Bus):
    """A bus like `slipring.Bus`, for tests: one process, virtual time, and the same order on every run.

    Messages are in flight until they are delivered: by `step`, one at a time; by `run_until_idle`, all; or by
    any call that waits. `automatic=True` delivers each message as it is sent. The seed chooses between
    deliveries that do not depend on each other. Nothing is shared with other buses, not even with those of
    the same name.
    """

    _member = SteppedMember

    def __init__(
        self, name: str = "test", *, seed: int | str = 0, automatic: bool = False, start_ns: int = START_NS
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name must be str, not {type(name).__name__}")
        self._check_text("name", name)
        self._open(name, World(seed, automatic, start_ns), owner=True)

    def _open(self, name: str, world: World, *, owner: bool) -> None:
        self.name = name
        self.root = "stepped:"
        self.path = f"stepped:{name}"
        self.clock = world.clock
        self._world = world
        self._owner = owner
        self._closed = False
        self._made: weakref.WeakSet[Handle] = weakref.WeakSet()

    def process(self) -> SteppedBus:
        """The same bus as another process would open it: its handles can be closed or killed together."""
        other = SteppedBus.__new__(SteppedBus)
        other._open(self.name, self._world, owner=False)
        return other

    # What Bus does with files

    def _make(self, topic: str, given: dict[str, int], exist_ok: bool) -> None:
        world, found = self._world, self._world.topics.get(topic)
        if found is None:
            geometry = Geometry.choose(given)
            world.topics[topic] = Topic(topic, geometry, world.generation(), world.clock.time_ns())
            world.note(f"create {topic}")
            world.changed()
        elif not exist_ok:
            text = f"topic '{topic}' exists: use exist_ok=True or another name"
            raise TopicExists(text, argument="topic")
        else:
            found.geometry.match(given, topic)

    def _remove(self, topic: str) -> None:
        self._world.topic(topic).gone = True
        del self._world.topics[topic]
        self._world.note(f"remove {topic}")
        self._world.changed()

    def _names(self) -> list[str]:
        return list(self._world.topics)

    def _tables(self, topic: str) -> dict[str, Any]:
        return self._world.topic(topic).tables()

    def _drop_cursor(self, topic: str, name: str) -> None:
        check_cursor(name)
        self._world.topic(topic).cursors.drop(name)

    def _publisher(self, topic: str, sender: str, given: dict[str, int]) -> Publisher:
        self._make(topic, given, True)
        publisher = SteppedPublisher(self._world, self._world.topics[topic], sender)
        self._made.add(publisher)
        return cast("Publisher", publisher)  # the same methods, another class

    def _subscriber(self, topic: str, arguments: tuple[Any, ...]) -> Subscriber:
        subscriber = SteppedSubscriber(self._world, topic, Wish(*arguments))
        self._made.add(subscriber)
        return cast("Subscriber", subscriber)

    def doctor(self, repair: bool = False) -> list[dict[str, str]]:
        """What killed handles left in the tables; with repair, cleared."""
        if self._closed:
            raise Closed("this bus is closed")
        findings = []
        for topic in self._world.topics.values():
            dead = topic.dead()
            if dead:
                action = "cleared" if repair else "cleared by the next attach, or with repair"
                problem = f"{dead} table {'entry' if dead == 1 else 'entries'} of dead processes"
                findings.append({"topic": topic.name, "problem": problem, "action": action})
            if repair:
                topic.sweep(self._world.clock.time_ns())
        return findings

    def close(self) -> None:
        """Close every handle made from this bus; their waits end with Closed, and so do spawned functions."""
        self._closed = True
        for handle in self._mortals():
            handle.close()
        if self._owner:
            self._world.scheduler.finish()

    # Stepping

    @property
    def trace(self) -> list[str]:
        """Everything that happened so far, one line each: equal for equal seeds."""
        return list(self._world.trace)

    @property
    def seed(self) -> int | str:
        return self._world.seed

    def step(self) -> Delivery | None:
        """Deliver one message, and let spawned functions go on; None if no message is in flight."""
        self._world.scheduler.run_all()
        delivery = self._world.deliver_one()
        self._world.scheduler.run_all()
        return delivery

    def run_until_idle(self) -> int:
        """Step until nothing is in flight and all spawned functions wait; how many were delivered."""
        self._world.scheduler.run_all()
        delivered = 0
        while self.step() is not None:
            delivered += 1
        return delivered

    def pending(self) -> list[tuple[str, int]]:
        """Topic and sequence of the next delivery to each subscriber that has one."""
        return [(topic.name, seq) for topic, _, seq in self._world.pending()]

    def advance(self, seconds: float) -> None:
        """Let virtual time pass, and with it the time-outs of spawned functions; delivers nothing."""
        checked = timeout_s(seconds)
        if checked is None:
            raise BadArgument(f"seconds={seconds} must be a number of seconds", argument="seconds")
        self._world.advance(checked)

    def spawn(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Task[Result]:
        """Run fn in a thread of its own that is driven with the bus: its `result()` is what it returns."""
        return self._world.scheduler.spawn(fn, args, kwargs)

    def run(self, main: Coroutine[Any, Any, Result]) -> Result:
        """`asyncio.run` in virtual time."""
        with asyncio.Runner(loop_factory=self.event_loop) as runner:
            return runner.run(main)

    def event_loop(self) -> asyncio.AbstractEventLoop:
        """A new event loop in virtual time, for `asyncio.Runner(loop_factory=bus.event_loop)`."""
        from .aio import SteppedLoop

        return SteppedLoop(self._world)

    # Faults

    def lose(self, target: Any, n: int = 1) -> None:
        """The next n deliveries of a topic, or to one subscriber, are lost; lossy subscribers count them."""
        faults.lose(self._world, target, n)

    def lap(self, target: Any, keep: int = 0) -> int:
        """A lossy subscriber, or all of a topic, lose what they have not read but the newest `keep`; how
        many.
        """
        return faults.lap(self._world, target, keep)

    def kill(self, *mortals: faults.Mortal, at: str | None = None) -> None:
        """As by SIGKILL: handles, members or whole processes; `at` a point: when they get there."""
        faults.kill(self._world, mortals, at)

    def _mortals(self) -> list[Handle]:
        return sorted(self._made, key=lambda handle: handle._number)

    def __repr__(self) -> str:
        return f"<SteppedBus {self.name!r} seed={self.seed!r} at {self.clock.monotonic()} s>"


SteppedBus.__module__ = "slipring.testing"
