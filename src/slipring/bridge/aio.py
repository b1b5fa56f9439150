# SPDX-License-Identifier: Apache-2.0
"""asyncio on a remote subscriber: arrivals call the loop, nothing blocks it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from slipring._bus.settings import timeout_s

if TYPE_CHECKING:
    from slipring._bus.subscriber import Message

    from .subscriber import RemoteSubscriber


class _LoopBell:
    """Rung by the link's thread: sets an asyncio event."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.rung = asyncio.Event()

    def ring(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.rung.set)


async def receive(subscriber: RemoteSubscriber, timeout: float | None) -> Message | None:
    """The next message, or None on expiry; cancelling loses nothing."""
    seconds = timeout_s(timeout)
    if seconds == 0:
        await asyncio.to_thread(subscriber._sync)
        return subscriber.take_arrived()
    loop = asyncio.get_running_loop()
    deadline = None if seconds is None else loop.time() + seconds
    bell = _LoopBell()
    subscriber.add_bell(bell)
    try:
        while True:
            bell.rung.clear()
            message = subscriber.take_arrived()
            if message is not None:
                return message
            left = None if deadline is None else deadline - loop.time()
            try:
                await asyncio.wait_for(bell.rung.wait(), left)
            except TimeoutError:
                return subscriber.take_arrived()
    finally:
        subscriber.remove_bell(bell)
