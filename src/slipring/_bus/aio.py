# SPDX-License-Identifier: Apache-2.0
"""asyncio: one waiter thread per event loop sleeps for all subscribers that the loop's tasks wait on.

A task that finds nothing registers (subscriber, future) and rings the thread's bell, so that the thread takes
the subscriber into its next sleep. When a sleep ends, the futures of subscribers that have something are
resolved in the loop, and each task tries again. The thread ends by itself when nobody waits for a while or
its loop is gone.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from slipring.errors import Closed, SlipringError

from .native import _native
from .settings import timeout_s

if TYPE_CHECKING:
    from .subscriber import Message, Subscriber

T = TypeVar("T")

_IDLE_S = 0.05  # a waiter thread for which nobody waits ends after this long
_MOMENT_S = 0.001
_waiters: WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiter] = WeakKeyDictionary()


class _Waiter:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._bell = _native.Bell()
        self._futures: dict[Subscriber, list[asyncio.Future[None]]] = {}
        self._thread: threading.Thread | None = None

    def add(self, subscriber: Subscriber) -> asyncio.Future[None]:
        future: asyncio.Future[None] = self._loop.create_future()
        with self._lock:
            self._futures.setdefault(subscriber, []).append(future)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="slipring-waiter", daemon=True)
                self._thread.start()
        self._bell.ring()
        return future

    def discard(self, subscriber: Subscriber, future: asyncio.Future[None]) -> None:
        with self._lock:
            waiting = self._futures.get(subscriber, [])
            if future in waiting:
                waiting.remove(future)
            if not waiting:
                self._futures.pop(subscriber, None)
        self._bell.ring()

    def _take(self, subscriber: Subscriber) -> list[asyncio.Future[None]]:
        with self._lock:
            return self._futures.pop(subscriber, [])

    def _resolve(self, subscriber: Subscriber, error: SlipringError | None = None) -> None:
        futures = self._take(subscriber)

        def wake() -> None:
            for future in futures:
                if future.done():
                    continue
                if error is None:
                    future.set_result(None)
                else:
                    future.set_exception(error)

        self._loop.call_soon_threadsafe(wake)

    def _resolve_failed(self, subscribers: tuple[Subscriber, ...]) -> None:
        """One of them ended the sleep of all with an error that trying again may not show, such as a deleted file: each
        by itself, for a moment, tells whose it was."""
        for subscriber in subscribers:
            try:
                _native.wait((subscriber,), None, 0, _MOMENT_S, 0.0)
            except SlipringError as error:
                self._resolve(subscriber, error)

    def _resolve_ready(self, subscribers: tuple[Subscriber, ...]) -> None:
        for subscriber in subscribers:
            try:
                ready = subscriber._ready()
            except SlipringError:
                ready = True  # the task meets the same error when it tries again
            if ready:
                self._resolve(subscriber)

    def _run(self) -> None:
        try:
            while not self._loop.is_closed():
                rings = self._bell.rings()
                with self._lock:
                    subscribers = tuple(self._futures)
                self._resolve_ready(subscribers)
                with self._lock:
                    subscribers = tuple(self._futures)
                try:
                    rung = _native.wait(subscribers, self._bell, rings, None if subscribers else _IDLE_S, 0.0)
                except SlipringError:
                    rung = True
                    # defect deleted_files_hidden_from_task: pass
                    self._resolve_failed(subscribers)
                with self._lock:
                    if not rung and not self._futures:
                        self._thread = None
                        return
        except RuntimeError:  # the loop was closed while a future was being resolved
            with self._lock:
                self._thread = None


def _waiter() -> _Waiter:
    loop = asyncio.get_running_loop()
    waiter = _waiters.get(loop)
    if waiter is None:
        waiter = _waiters[loop] = _Waiter(loop)
    return waiter


async def until(subscriber: Subscriber, timeout: float | None, take: Callable[[], T | None]) -> T | None:
    """What `take` finds at the subscriber, or None on expiry."""
    seconds = timeout_s(timeout)
    taken = take()
    if taken is not None or seconds == 0:
        return taken
    loop = asyncio.get_running_loop()
    deadline = None if seconds is None else loop.time() + seconds
    waiter = _waiter()
    while True:
        future = waiter.add(subscriber)
        try:
            left = None if deadline is None else deadline - loop.time()
            await asyncio.wait_for(future, left)
        except TimeoutError:
            return take()
        finally:
            waiter.discard(subscriber, future)
        taken = take()
        if taken is not None:
            return taken


class Messages:
    """`async for message in subscriber`: until it is closed."""

    def __init__(self, subscriber: Subscriber) -> None:
        self._subscriber = subscriber

    def __aiter__(self) -> Messages:
        return self

    async def __anext__(self) -> Message:
        try:
            message = await self._subscriber.arecv(None)
        except Closed:
            raise StopAsyncIteration from None
        if message is None:
            raise StopAsyncIteration
        return message
