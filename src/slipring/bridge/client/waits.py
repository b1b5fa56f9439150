# SPDX-License-Identifier: Apache-2.0
"""Waiting for remote subscribers: in threads, together with local ones, and in asyncio.

A remote subscriber rings bells when something arrives. The core's wait for topics of this host listens to such a
bell; in asyncio a bell sets an event of the loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from slipring._bus.native import _native
from slipring._bus.settings import timeout_s
from slipring._bus.subscriber import SHARED_MEMORY, SPIN_US
from slipring._bus.wait import INBOX_BELLS, Bell, Waitable, Waits

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


class Ringing(Protocol):
    """A remote subscriber, as a wait uses it."""

    def add_bell(self, bell: Bell) -> None: ...
    def remove_bell(self, bell: Bell) -> None: ...
    def has_something(self) -> bool: ...
    def _check_open(self) -> None: ...
    def _sync(self) -> None: ...


class _Remote:
    """All remote buses of this process."""

    monotonic = staticmethod(time.monotonic)

    def with_others(self) -> frozenset[Waits]:
        # defect local_and_remote_wait_refused: return frozenset((self,))
        return frozenset((self, SHARED_MEMORY))

    def sleep(
        self,
        items: tuple[Waitable, ...],
        timeout: float | None,
        bell: _native.Bell | None = None,
        rings: int = 0,
    ) -> None:
        subscribers: list[Any] = [item._waited() for item in items]
        local = tuple(subscriber for subscriber in subscribers if subscriber._waits is SHARED_MEMORY)
        remote: list[Ringing] = [one for one in subscribers if one._waits is self]
        bell = bell or _native.Bell()
        for subscriber in remote:
            subscriber.add_bell(bell)
        try:  # what came before its bell was added is seen here
            if not any(subscriber.has_something() for subscriber in remote):
                _native.wait(local, bell, rings, timeout, SPIN_US if local else 0.0)
        finally:
            for subscriber in remote:
                subscriber.remove_bell(bell)

    async def until(self, item: Waitable, timeout: float | None, take: Callable[[], T | None]) -> T | None:
        subscriber: Any = item._waited()
        return await receive(subscriber, timeout, take)


REMOTE = _Remote()


class _LoopBell:
    """Rung by the link's thread: sets an event of asyncio."""

    def __init__(self, loop: asyncio.AbstractEventLoop, rung: asyncio.Event) -> None:
        self._loop, self._rung = loop, rung

    def ring(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._rung.set)


async def receive(subscriber: Ringing, timeout: float | None, take: Callable[[], T | None]) -> T | None:
    """Return what `take` finds at the subscriber, or None on expiry; cancelling loses nothing."""
    import asyncio  # slow to import, and most programs do without

    seconds = timeout_s(timeout)
    subscriber._check_open()
    if seconds == 0:
        await asyncio.to_thread(subscriber._sync)
        return take()
    loop, rung = asyncio.get_running_loop(), asyncio.Event()
    deadline = None if seconds is None else loop.time() + seconds
    bell = _LoopBell(loop, rung)
    subscriber.add_bell(bell)
    INBOX_BELLS.add(bell)
    try:
        while True:
            rung.clear()
            taken = take()
            if taken is not None:
                return taken
            left = None if deadline is None else deadline - loop.time()
            try:
                await asyncio.wait_for(rung.wait(), left)
            except TimeoutError:
                return take()
    finally:
        subscriber.remove_bell(bell)
        INBOX_BELLS.remove(bell)
