# SPDX-License-Identifier: Apache-2.0
"""The runtime of calls on a stepped bus: virtual time, ids by the seed, spawned functions instead of threads, and
waits that end exactly when there is something to do, not in slices of time.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from slipring._bus.calls import envelope, protocol
from slipring._bus.calls.protocol import Hello
from slipring._bus.calls.runtime import Bell, Event, Runtime
from slipring.errors import BadArgument, Closed, SlipringError

from ..errors import Killed
from ..schedule.aio import SteppedLoop
from .replies import SteppedReplies
from .workers import SteppedWorkers

if TYPE_CHECKING:
    from slipring._bus.publisher import Publisher
    from slipring._bus.subscriber import Subscriber

    from ..ports.publisher import SteppedPublisher
    from ..ring.topic import Topic
    from ..schedule.scheduler import Task
    from ..simulation import Simulation


class SteppedInspector:
    """A publisher's number is its incarnation."""

    def __init__(self, topic: Topic) -> None:
        self._topic: Topic | None = topic

    def owner(self, entry: int, /) -> int:
        if self._topic is None:
            raise Closed("this inspector is closed")
        self._topic.check()
        if entry >= self._topic.geometry.max_writers:
            raise BadArgument(f"there is no entry {entry}", argument="entry")
        alive = (writer for writer in self._topic.writers if writer.alive and writer.index == entry)
        return next((writer.number for writer in alive), 0)

    def close(self) -> None:
        self._topic = None


class SteppedBell:
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._rings = 0

    def ring(self) -> None:
        self._rings += 1
        self._simulation.changed()

    def rings(self) -> int:
        return self._rings


class SteppedEvent:
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._set = False

    def set(self) -> None:
        self._set = True
        self._simulation.changed()

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        return self._simulation.scheduler.block(self.is_set, timeout, "an event")


class SteppedStarted:
    def __init__(self, simulation: Simulation, task: Task[None]) -> None:
        self._simulation, self._task = simulation, task

    def join(self, timeout: float | None = None) -> None:
        self._simulation.scheduler.block(lambda: self._task.done, timeout, f"the end of {self._task.name}")


class SteppedRuntime(Runtime):
    busy_s = 0.0
    slice_s = math.inf
    check_every_s = 0.0
    retries_s = (0.0, 0.0)

    def __init__(self, simulation: Simulation) -> None:
        # defect stepped_calls_use_machine_clock: self.clock = __import__("time")
        self.clock = simulation.clock
        self._simulation = simulation
        self.worker_threads = partial(SteppedWorkers, simulation)
        self.replies = partial(SteppedReplies, simulation)

    def random(self, size: int) -> bytes:
        """Apart from the choices of the scheduler, which calls must not change."""
        text = f"{self._simulation.seed!r} {self._simulation.number()}"
        # defect stepped_client_ids_random: return super().random(size)
        return hashlib.sha256(text.encode()).digest()[:size]

    # Liveness

    def inspector(self, topic: str) -> SteppedInspector:
        return SteppedInspector(self._simulation.topic(topic))

    def exists(self, topic: str) -> bool:
        return topic in self._simulation.topics

    def await_server(self, service: str, left: float | None) -> None:
        what = f"wait_for_server of '{service}'"
        self._simulation.scheduler.block(lambda: self._is_served(service), left, what)

    def _is_served(self, service: str) -> bool:
        """Whether the newest announcement is that of a living server."""
        topic = self._simulation.topics.get(protocol.presence_topic(service))
        if topic is None or topic.ring.newest() == topic.ring.tail:
            return False
        try:
            _, hello = envelope.decode(topic.ring.entries[topic.ring.newest()].body)
        except envelope.Malformed:
            return False
        return isinstance(hello, Hello) and hello.incarnation == SteppedInspector(topic).owner(0)

    def closing(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.suppress(Killed)

    # Waiting

    def bell(self) -> SteppedBell:
        return SteppedBell(self._simulation)

    def await_requests(
        self, requests: Subscriber, bell: Bell, rings: int, timeout: float, changed: Callable[[], bool]
    ) -> None:
        def found() -> bool:
            return bell.rings() != rings or requests._ready() or changed()

        self._simulation.scheduler.block(found, None, f"requests on '{requests.topic}'")

    def has_room(self, publisher: Publisher, message: bytes) -> bool:
        try:
            return cast("SteppedPublisher", publisher)._has_room(len(message), "")
        except SlipringError:
            return True  # found again, and raised, when it is sent

    async def await_room(self, found: Callable[[], bool]) -> None:
        await self._simulation.until_ready(found, None, lambda: found() or None)

    def event(self) -> SteppedEvent:
        return SteppedEvent(self._simulation)

    async def await_event(self, event: Event) -> None:
        await self._simulation.until_ready(event.is_set, None, lambda: event.is_set() or None)

    # Threads

    def start(self, function: Callable[[], None], name: str, *, daemon: bool = True) -> SteppedStarted:
        return SteppedStarted(self._simulation, self._simulation.scheduler.spawn(function, (), {}))

    def new_loop(self) -> asyncio.AbstractEventLoop:
        return SteppedLoop(self._simulation.scheduler)
