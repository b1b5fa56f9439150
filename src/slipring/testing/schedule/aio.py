# SPDX-License-Identifier: Apache-2.0
"""asyncio on a stepped bus.

`SteppedLoop` is an event loop in virtual time. When none of its tasks can continue, it drives the bus as a waiting call
does: it runs spawned functions, delivers messages, lets time pass, and raises `Deadlock` when none of these is
possible. Any other loop works too, but in its own time: it delivers a message whenever one of its tasks waits.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

from slipring._bus.settings import timeout_s

from .scheduler import Scheduler

Found = TypeVar("Found")
Ready = Callable[[], object]


def _is_ready(ready: Ready) -> bool:
    try:
        return bool(ready())
    except BaseException:  # noqa: BLE001 - the task meets the same error when it tries again
        return True


class Sleepers:
    """Tasks that wait for a condition of the bus."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._waiting: list[tuple[Ready, asyncio.Future[None]]] = []
        self._pumping: set[asyncio.AbstractEventLoop] = set()

    def until(self, ready: Ready) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append((ready, future))
        self._pump_soon(loop)
        return future

    def look(self) -> None:
        """Wake the tasks whose condition is true; something has changed."""
        asleep = []
        for ready, future in self._waiting:
            loop = future.get_loop()
            if future.done() or loop.is_closed():
                continue
            if _is_ready(ready):
                loop.call_soon_threadsafe(_resolve, future)
            else:
                asleep.append((ready, future))
                self._pump_soon(loop)
        self._waiting = asleep

    def _pump_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let a loop that does not drive the bus when idle drive it between its tasks."""
        if not isinstance(loop, SteppedLoop) and loop not in self._pumping:
            self._pumping.add(loop)
            loop.call_soon_threadsafe(self._pump, loop)

    def _pump(self, loop: asyncio.AbstractEventLoop) -> None:
        self._pumping.discard(loop)
        waits = any(future.get_loop() is loop and not future.done() for _, future in self._waiting)
        if waits and self._scheduler.turn():
            self._pump_soon(loop)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def until(
    sleepers: Sleepers, ready: Ready, timeout: float | None, take: Callable[[], Found | None]
) -> Found | None:
    """Return what `take` finds, tried again when ready() is true; None after timeout, by the loop's clock. Cancelling
    loses nothing."""
    seconds = timeout_s(timeout)
    found = take()
    if found is not None or seconds == 0:
        return found
    loop = asyncio.get_running_loop()
    deadline = None if seconds is None else loop.time() + seconds
    while found is None:
        left = None if deadline is None else deadline - loop.time()
        try:
            await asyncio.wait_for(sleepers.until(ready), left)
        except TimeoutError:
            return take()
        found = take()
    return found


class _Selector(selectors.DefaultSelector):
    """Instead of sleeping, it drives the bus."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if found or (timeout is not None and timeout <= 0):
            return found

        def look() -> bool:
            found[:] = super(_Selector, self).select(0)
            return bool(found)

        self._scheduler.block(look, timeout, "the event loop")
        return found


class SteppedLoop(asyncio.SelectorEventLoop):
    """Made by `bus.event_loop`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        super().__init__(_Selector(scheduler))

    def time(self) -> float:
        return self._scheduler.clock.monotonic()

    def run_in_executor(  # type: ignore[override]  # typeshed's overloads add nothing here
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """`asyncio.to_thread` and the like: a spawned function of the bus, unless an executor is given."""
        if executor is not None:
            return super().run_in_executor(executor, func, *args)
        future = self.create_future()

        def run() -> None:
            try:
                value = func(*args)
            except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
                self.call_soon_threadsafe(_settle, future, None, error)
            else:
                self.call_soon_threadsafe(_settle, future, value, None)

        self._scheduler.spawn(run, (), {})
        return future


def _settle(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)
