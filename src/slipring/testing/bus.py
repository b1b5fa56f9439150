# SPDX-License-Identifier: Apache-2.0
"""SteppedBus: a bus in one process that a test drives step by step."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, cast

from slipring._bus.bus import Bus
from slipring._bus.calls import cleanup
from slipring._bus.cells import store as cells_store
from slipring._bus.doctor import note
from slipring._bus.settings import check_text, timeout_s
from slipring.errors import BadArgument, Closed, TopicExists

from . import faults
from .cells.store import SteppedStore
from .frames.store import SteppedFrames
from .ports.handle import Handle, InOrder
from .ports.member import SteppedMember
from .ports.publisher import SteppedPublisher
from .ports.subscriber import SteppedSubscriber
from .ring.cursors import check_name as check_cursor
from .ring.geometry import Geometry
from .ring.reader import Options
from .ring.statistics import statistics
from .ring.topic import Topic
from .schedule.clock import START_NS
from .schedule.scheduler import Task
from .simulation import Delivery, Simulation

if TYPE_CHECKING:
    from slipring._bus.publisher import Publisher
    from slipring._bus.subscriber import Subscriber
    from slipring._bus.typed.subscriber_reading import Reading

    from .calls.runtime import SteppedRuntime
    from .ports.pattern_subscriber import SteppedPatternSubscriber

Result = TypeVar("Result")


class SteppedBus(Bus):
    """A bus like `slipring.Bus`, for tests: one process, virtual time, and the same order on every run.

    Messages are in flight until they are delivered: by `step`, one at a time; by `run_until_idle`, all; or by
    any call that waits. `automatic=True` delivers each message as it is sent. The seed chooses between
    deliveries that do not depend on each other. Nothing is shared with other buses, not even with those of
    the same name.
    """

    _member = SteppedMember

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        return object.__new__(cls)  # not a transport that the name selects

    def __init__(
        self, name: str = "test", *, seed: int | str = 0, automatic: bool = False, start_ns: int = START_NS
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name must be str, not {type(name).__name__}")
        check_text("name", name)
        self._open(name, Simulation(seed, automatic, start_ns), owner=True)

    def _open(self, name: str, simulation: Simulation, *, owner: bool) -> None:
        self.name = name
        self.root = "stepped:"
        self.path = f"stepped:{name}"
        self.clock = simulation.clock
        self._simulation = simulation
        self._owner = owner
        self._closed = False
        self._made: weakref.WeakSet[Handle] = weakref.WeakSet()
        self._handles = InOrder()  # what was made over them
        self._services = InOrder()

    def process(self) -> SteppedBus:
        """Open the same bus as another process would: its handles can be closed or killed together."""
        other = SteppedBus.__new__(SteppedBus)
        other._open(self.name, self._simulation, owner=False)
        return other

    # Steps and time

    @property
    def trace(self) -> list[str]:
        """Everything that happened so far, one line each: equal for equal seeds."""
        return list(self._simulation.trace)

    @property
    def seed(self) -> int | str:
        return self._simulation.seed

    def step(self) -> Delivery | None:
        """Deliver one message, and let spawned functions continue; None if no message is in flight."""
        self._simulation.scheduler.run_all()
        delivery = self._simulation.deliver_one()
        self._simulation.scheduler.run_all()
        return delivery

    def run_until_idle(self) -> int:
        """Step until nothing is in flight and all spawned functions wait. Return the number of deliveries."""
        self._simulation.scheduler.run_all()
        delivered = 0
        while self.step() is not None:
            delivered += 1
        return delivered

    def pending(self) -> list[tuple[str, int]]:
        """Return topic and sequence of the next delivery to each subscriber that has one."""
        return [(topic.name, seq) for topic, _, seq in self._simulation.pending()]

    def advance(self, seconds: float) -> None:
        """Let virtual time pass, and with it the time-outs of spawned functions. Deliver nothing."""
        checked = timeout_s(seconds)
        if checked is None:
            raise BadArgument(f"seconds={seconds} must be a number of seconds", argument="seconds")
        self._simulation.advance(checked)

    def spawn(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Task[Result]:
        """Run fn in a thread of its own that is driven with the bus. `result()` of the task returns its result."""
        return self._simulation.scheduler.spawn(fn, args, kwargs)

    def run(self, main: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in virtual time, as `asyncio.run` does in real time."""
        with asyncio.Runner(loop_factory=self.event_loop) as runner:
            return runner.run(main)

    def event_loop(self) -> asyncio.AbstractEventLoop:
        """Return a new event loop in virtual time, for `asyncio.Runner(loop_factory=bus.event_loop)`."""
        from .schedule.aio import SteppedLoop

        return SteppedLoop(self._simulation.scheduler)

    # Faults

    def lose(self, target: Any, n: int = 1) -> None:
        """Lose the next n deliveries of a topic, or to one subscriber. Lossy subscribers count them."""
        faults.lose(self._simulation, target, n)

    def lap(self, target: Any, keep: int = 0) -> int:
        """Let a lossy subscriber, or all of a topic, lose the unread messages except the newest `keep`. Return how
        many."""
        return faults.lap(self._simulation, target, keep)

    def kill(self, *victims: faults.Killable, at: str | None = None) -> None:
        """Kill handles, members or whole processes as by SIGKILL; with `at`, when they reach that point."""
        faults.kill(self._simulation, victims, at)

    # Topics: made, listed, described and removed without files

    def _make(self, topic: str, given: dict[str, Any], exist_ok: bool) -> None:
        simulation, found = self._simulation, self._simulation.topics.get(topic)
        simulation.check_kind(topic, "topic")
        if found is None and given.get("must_exist"):
            simulation.topic(topic)
        if found is None:
            geometry = Geometry.choose(given)
            generation, now_ns = simulation.generation(), simulation.clock.time_ns()
            simulation.topics[topic] = Topic(topic, geometry, given.get("schema"), generation, now_ns)
            simulation.note(f"create {topic}")
            simulation.changed()
        elif not exist_ok:
            text = f"topic '{topic}' exists: use exist_ok=True or another name"
            raise TopicExists(text, argument="topic")
        else:
            found.match(given)

    def _stored(self, topic: str) -> bytes | None:
        return self._simulation.topic(topic).schema

    def _remove(self, topic: str) -> None:
        simulation = self._simulation
        found = simulation.cells.pop(topic, None) or simulation.topic(topic)
        found.gone = True
        simulation.topics.pop(topic, None)
        simulation.note(f"remove {topic}")
        simulation.changed()

    def _names(self) -> list[str]:
        return list(self._simulation.topics)

    def _identities(self, stamp: object) -> tuple[object, dict[str, int] | None]:
        return None, {name: topic.generation for name, topic in self._simulation.topics.items()}

    def _identity(self, topic: str) -> int | None:
        found = self._simulation.topics.get(topic)
        return None if found is None else found.generation

    def contents(self) -> dict[str, str]:
        """Return everything on the bus by name: "topic" or "cells"."""
        if self._closed:
            raise Closed("this bus is closed")
        simulation = self._simulation
        kinds = dict.fromkeys(simulation.topics, "topic") | dict.fromkeys(simulation.cells, "cells")
        return dict(sorted(kinds.items()))

    def stats(self, topic: str) -> dict[str, Any]:
        """Return counters and tables of a topic, or of cells, in the words of a real bus."""
        in_cells = self._simulation.cells.get(self._topic(topic))
        if in_cells is not None:
            return cells_store.with_kind(topic, in_cells.stats())
        found = self._simulation.topic(topic)
        frames = {"streams": found.pool.facts() if found.pool else []} if found.is_frames else {}
        return {"topic": topic, **self._tables(topic), **frames}

    def _tables(self, topic: str) -> dict[str, Any]:
        return statistics(self._simulation.topic(topic), self.clock.time_ns())

    def _drop_cursor(self, topic: str, name: str) -> None:
        check_cursor(name)
        self._simulation.topic(topic).cursors.drop(name)

    def doctor(self, repair: bool = False) -> list[dict[str, str]]:
        """Report what killed handles left in the tables; with repair, clear it."""
        if self._closed:
            raise Closed("this bus is closed")
        findings = []
        for found in self._simulation.topics_and_cells():
            if cleanup.is_leftover(self._tables, found.name):
                action = "removed" if repair else "removed by the next client or server, or with repair"
                problem = "the reply topic of a dead client"
                findings.append(note(found.name, problem, action))
                if repair:
                    self._remove(found.name)
                continue
            dead = found.dead()
            if dead:
                action = "cleared" if repair else "cleared by the next attach, or with repair"
                problem = f"{dead} table {'entry' if dead == 1 else 'entries'} of dead processes"
                findings.append(note(found.name, problem, action))
            if repair:
                found.sweep(self._simulation.clock.time_ns())
        return findings

    # Handles

    def _cells_store(self) -> SteppedStore:
        return SteppedStore(self._simulation, self._made.add)

    def _frame_store(self) -> SteppedFrames:
        return SteppedFrames(self._simulation, self._made.add, self._publish)

    def _calls_runtime(self) -> SteppedRuntime:
        from .calls.runtime import SteppedRuntime

        return SteppedRuntime(self._simulation)

    def _publisher(self, topic: str, sender: str, given: dict[str, Any]) -> Publisher:
        return cast("Publisher", self._publish(topic, sender, given))  # the same methods, another class

    def _publish(self, topic: str, sender: str, given: dict[str, Any]) -> SteppedPublisher:
        self._make(topic, given, True)
        publisher = SteppedPublisher(self._simulation, self._simulation.topics[topic], sender)
        self._made.add(publisher)
        return publisher

    def _subscriber(self, topic: str, arguments: tuple[Any, ...], reading: Reading) -> Subscriber:
        subscriber = SteppedSubscriber(self._simulation, topic, Options(*arguments), reading)
        self._made.add(subscriber)
        return cast("Subscriber", subscriber)

    def _pattern_class(self) -> type[SteppedPatternSubscriber]:
        from .ports.pattern_subscriber import SteppedPatternSubscriber

        return SteppedPatternSubscriber

    def close(self) -> None:
        """Close every handle made from this bus; their waits end with Closed, and so do spawned functions."""
        for service in list(self._services):
            service.close()
        self._closed = True
        for handle in self._handles_to_kill():
            handle.close()
        for made_over in list(self._handles):
            made_over.close()
        if self._owner:
            self._simulation.scheduler.finish()

    def _handles_to_kill(self) -> list[Handle]:
        return sorted(self._made, key=lambda handle: handle._number)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a SteppedBus cannot be pickled: it is one process's; give a real Bus to another process"
        )

    def __repr__(self) -> str:
        return f"<SteppedBus {self.name!r} seed={self.seed!r} at {self.clock.monotonic()} s>"


SteppedBus.__module__ = "slipring.testing"
