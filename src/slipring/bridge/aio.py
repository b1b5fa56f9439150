# SPDX-License-Identifier: Apache-2.0
"""asyncio on a remote subscriber: arrivals call the loop, nothing blocks it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from slipring._bus.settings import timeout_s
from slipring._bus.waits import INBOX_BELLS

if TYPE_CHECKING:
    from .subscriber import RemoteSubscriber

T = TypeVar("T")


class _LoopBell:
    """Rung by the link's thread: sets an asyncio event."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.rung = asyncio.Event()

    def ring(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.rung.set)


async def receive(
    subscriber: RemoteSubscriber, timeout: float | None, take: Callable[[], T | None]
) -> T | None:
    """What `take` finds here, or None on expiry; cancelling loses nothing."""
    seconds = timeout_s(timeout)
    subscriber._check()
    if seconds == 0:
        await asyncio.to_thread(subscriber._sync)
        return take()
    loop = asyncio.get_running_loop()
    deadline = None if seconds is None else loop.time() + seconds
    bell = _LoopBell()
    subscriber.add_bell(bell)
    INBOX_BELLS.add(bell)
    try:
        while True:
            bell.rung.clear()
            taken = take()
            if taken is not None:
                return taken
            left = None if deadline is None else deadline - loop.time()
            try:
                await asyncio.wait_for(bell.rung.wait(), left)
            except TimeoutError:
                return take()
    finally:
        subscriber.remove_bell(bell)
        INBOX_BELLS.remove(bell)
