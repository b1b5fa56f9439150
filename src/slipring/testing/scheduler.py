# SPDX-License-Identifier: Apache-2.0
"""Who goes on next: how calls wait in a bus that has no second process.

The thread that made the bus drives it. While one of its calls waits, it does, in this order and one at a
time, whatever can be done: run a spawned function that can go on, deliver a message, let the time pass to the
next time-out. If nothing of that is left, the call would never return: `Deadlock`.

A spawned function that waits hands control back to the driver, which resumes it once what it waits for is
there. Which function, and which delivery, is chosen by the seed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import Deadlock, WrongThread
from .tasks import Task, call

if TYPE_CHECKING:
    from .world import World

Result = TypeVar("Result")
_TURNS_AT_THE_END = 1000  # of functions that go on although their bus is closed


@dataclass(frozen=True, slots=True)
class Wait:
    ready: Callable[[], object]
    deadline_ns: int | None
    what: str


class Scheduler:
    def __init__(self, world: World) -> None:
        self._world = world
        self._driver = threading.get_ident()
        self._running: Task[Any] | None = None
        self._tasks: list[Task[Any]] = []
        self._spawned = 0

    def check_thread(self) -> None:
        running = self._driver if self._running is None else self._running._thread.ident
        if threading.get_ident() != running:
            text = "a stepped bus is driven by the thread that made it: start other threads with bus.spawn()"
            raise WrongThread(text)

    def spawn(self, fn: Callable[..., Result], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Task[Result]:
        self._spawned += 1
        name = f"{getattr(fn, '__name__', 'task')}-{self._spawned}"
        task = Task(self, name, call(fn, args, kwargs))
        self._tasks.append(task)
        return task

    # Waiting

    def block(self, ready: Callable[[], object], seconds: float | None, what: str) -> bool:
        """Until ready() is true; False when the time is up."""
        self.check_thread()
        wait = Wait(ready, self._world.clock.deadline_ns(seconds), what)
        while not wait.ready():
            if self._expired(wait):
                return False
            if self._running is not None:
                self._hand_back(self._running, wait)
            # defect stepped_time_overtakes_delivery: elif wait.deadline_ns is not None or not self.turn():
            elif not self.turn():
                self._pass_time(wait)
        return True

    def _expired(self, wait: Wait) -> bool:
        return wait.deadline_ns is not None and wait.deadline_ns <= self._world.clock.monotonic_ns()

    def _hand_back(self, task: Task[Any], wait: Wait) -> None:
        self._running = None
        task._pause(wait)

    def give_way(self) -> None:
        """Let one other function, or one delivery, come first."""
        self.check_thread()
        if self._running is not None:
            self._hand_back(self._running, Wait(lambda: True, None, "its turn"))
        else:
            self.turn()

    # Driving

    def turn(self) -> bool:
        """One function goes on, or one message is delivered; False if there was nothing to do."""
        return self.run_one() or self._world.deliver_one() is not None

    def run_one(self) -> bool:
        """One function goes on until it waits again."""
        able = [task for task in self._tasks if self._can_run(task)]
        if not able:
            return False
        self._resume(self._world.choose(able))
        return True

    def run_all(self) -> None:
        """Until all functions wait."""
        self.check_thread()
        while self._running is None and self.run_one():
            pass

    def _resume(self, task: Task[Any]) -> None:
        self._running = task
        try:
            task._resume()
        finally:
            self._running = None
        if task.done:
            self._tasks.remove(task)

    def _can_run(self, task: Task[Any]) -> bool:
        if task.wait is None or self._expired(task.wait):
            return True
        try:
            return bool(task.wait.ready())
        except BaseException:  # noqa: BLE001 - it meets the same error when it goes on
            return True

    def next_timer_ns(self) -> int | None:
        """When the next time-out of a function ends, or something expires on the bus."""
        times = [task.wait.deadline_ns for task in self._tasks if task.wait is not None]
        ahead = [time for time in (*times, *self._world.expiries_ns()) if time is not None]
        return min(ahead, default=None)

    def _pass_time(self, wait: Wait) -> None:
        times = [time for time in (wait.deadline_ns, self.next_timer_ns()) if time is not None]
        # defect stepped_deadlock_silent: while not times: pass
        if not times:
            waits = [f"{task.name} for {task.waiting_for}" for task in self._tasks]
            others = f"; so do {', '.join(waits)}" if waits else ""
            text = "nothing is left to be delivered and no time-out is running"
            raise Deadlock(f"{wait.what} would wait for ever: {text}{others}")
        self._world.pass_time_to(min(times))

    def finish(self) -> None:
        """The bus is closed: let the functions end, and stop those that do not."""
        for _ in range(_TURNS_AT_THE_END):
            if self._running is not None or not self.run_one():
                break
        for task in self._tasks if self._running is None else ():
            task._stop()
        self._tasks = [task for task in self._tasks if not task.done]
