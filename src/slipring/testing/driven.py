# SPDX-License-Identifier: Apache-2.0
"""What a stepped bus has beyond a bus: steps, time, functions beside the test, faults."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from slipring._bus.settings import timeout_s
from slipring.errors import BadArgument

from . import faults
from .tasks import Task
from .world import Delivery, World

Result = TypeVar("Result")


class Driven:
    """Mixed into `SteppedBus`."""

    _world: World

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
