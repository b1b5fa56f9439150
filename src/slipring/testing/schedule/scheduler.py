# SPDX-License-Identifier: Apache-2.0
"""The choice of what runs next: how calls wait in a bus that has no second process.

The thread that made the bus drives it. While one of its calls waits, that call does what can be done, one step at a
time and in this order: run a spawned function that can continue, deliver a message, let time pass to the next
time-out. If nothing is left, the call would wait forever: `Deadlock`.

A spawned function has a thread of its own, but only one thread runs at a time. A function that waits hands control back
to the driver, which resumes it when its condition is true. The seed chooses between functions and between deliveries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ..errors import Deadlock, Stopped, WrongThread
from .clock import VirtualClock

Result = TypeVar("Result")
Item = TypeVar("Item")
_TURNS_AT_THE_END = 1000  # of functions that continue although their bus is closed


class Steps(Protocol):
    """The bus, as its scheduler sees it."""

    clock: VirtualClock

    def choose(self, items: Sequence[Item]) -> Item:
        """Return one of the items, by the seed."""

    def deliver_one(self) -> object:
        """Deliver one message; None if nothing is in flight."""

    def pass_time_to(self, monotonic_ns: int) -> None:
        """Let time pass."""

    def expiries_ns(self) -> Iterable[int]:
        """Return the times at which something expires on the bus."""


@dataclass(frozen=True, slots=True)
class Wait:
    ready: Callable[[], object]
    deadline_ns: int | None
    what: str


class Task(Generic[Result]):
    """Made by `bus.spawn`."""

    def __init__(self, scheduler: Scheduler, name: str, fn: Callable[[], Result]) -> None:
        self.name = name
        self.done = False
        self.wait: Wait | None = None  # what it waits for; None: it has not begun
        self._scheduler = scheduler
        self._fn = fn
        self._value: Result | None = None
        self._error: BaseException | None = None
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=f"slipring-{name}", daemon=True)

    def result(self) -> Result:
        """Drive the bus until the function ends. Return its value, or raise its error."""
        self._scheduler.block(lambda: self.done, None, f"the result of {self.name}")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # set when done without an error

    @property
    def waiting_for(self) -> str:
        """The wait in words; empty if the task is done or has not begun."""
        return self.wait.what if self.wait is not None and not self.done else ""

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self._stopped:
                self._value = self._fn()
        except Stopped:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by result()
            self._error = error
        self.done = True
        self._back.release()

    def _resume(self) -> None:
        """Let the task run until it waits again or is done. Called by the scheduler."""
        if self._thread.ident is None:
            self._thread.start()
        self._go.release()
        self._back.acquire()
        if self.done:
            self._thread.join()

    def _pause(self, wait: Wait) -> None:
        """Wait until the scheduler resumes the task. Called by the task."""
        self.wait = wait
        self._back.release()
        self._go.acquire()
        if self._stopped:
            raise Stopped

    def _stop(self) -> None:
        self._stopped = True
        if self._thread.ident is not None and not self.done:
            self._resume()
        self.done = True

    def __repr__(self) -> str:
        state = "done" if self.done else self.waiting_for or "not begun"
        return f"<Task {self.name!r}: {state}>"


class Scheduler:
    def __init__(self, steps: Steps) -> None:
        self.clock = steps.clock
        self._steps = steps
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
        task = Task(self, name, lambda: fn(*args, **kwargs))
        self._tasks.append(task)
        return task

    # Waiting

    def block(self, ready: Callable[[], object], seconds: float | None, what: str) -> bool:
        """Wait until ready() is true; return False when the time is up."""
        self.check_thread()
        wait = Wait(ready, self.clock.deadline_ns(seconds), what)
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
        return wait.deadline_ns is not None and wait.deadline_ns <= self.clock.monotonic_ns()

    def _hand_back(self, task: Task[Any], wait: Wait) -> None:
        self._running = None
        task._pause(wait)

    def give_way(self) -> None:
        """Let one other function, or one delivery, go first."""
        self.check_thread()
        if self._running is not None:
            self._hand_back(self._running, Wait(lambda: True, None, "its turn"))
        else:
            self.turn()

    # Driving

    def turn(self) -> bool:
        """Let one function continue, or deliver one message; return False if neither is possible."""
        return self.run_one() or self._steps.deliver_one() is not None

    def run_one(self) -> bool:
        """Let one function continue until it waits again; return False if all wait."""
        able = [task for task in self._tasks if self._can_run(task)]
        if not able:
            return False
        self._resume(self._steps.choose(able))
        return True

    def run_all(self) -> None:
        """Let functions continue until all wait."""
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
        """Return when the next time-out of a function ends, or something expires on the bus."""
        times = [task.wait.deadline_ns for task in self._tasks if task.wait is not None]
        ahead = [time for time in (*times, *self._steps.expiries_ns()) if time is not None]
        return min(ahead, default=None)

    def _pass_time(self, wait: Wait) -> None:
        times = [time for time in (wait.deadline_ns, self.next_timer_ns()) if time is not None]
        # defect stepped_deadlock_silent: while not times: pass
        if not times:
            waits = [f"{task.name} for {task.waiting_for}" for task in self._tasks]
            others = f"; so do {', '.join(waits)}" if waits else ""
            text = "nothing is left to be delivered and no time-out is running"
            raise Deadlock(f"{wait.what} would wait forever: {text}{others}")
        self._steps.pass_time_to(min(times))

    def finish(self) -> None:
        """Let the functions end, and stop those that do not: the bus is closed."""
        for _ in range(_TURNS_AT_THE_END):
            if self._running is not None or not self.run_one():
                break
        for task in self._tasks if self._running is None else ():
            task._stop()
        self._tasks = [task for task in self._tasks if not task.done]
