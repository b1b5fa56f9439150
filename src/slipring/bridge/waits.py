# SPDX-License-Identifier: Apache-2.0
"""Waiting on many remote subscribers at once, and on local ones with them: each remote one rings a bell when
something arrives, and the core's wait for topics of this host listens to that bell.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from slipring._bus.native import _native
from slipring._bus.waits import SHARED_MEMORY, SPIN_US, Waitable, Waits

if TYPE_CHECKING:
    from .subscriber import RemoteSubscriber

T = TypeVar("T")


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
        remote: list[RemoteSubscriber] = [one for one in subscribers if one._waits is self]
        heard = bell or _native.Bell()
        for subscriber in remote:
            subscriber.add_bell(heard)
        try:  # what came before its bell was added is seen here
            if not any(subscriber.has_something() for subscriber in remote):
                _native.wait(local, heard, rings, timeout, SPIN_US if local else 0.0)
        finally:
            for subscriber in remote:
                subscriber.remove_bell(heard)

    async def until(self, item: Waitable, timeout: float | None, take: Callable[[], T | None]) -> T | None:
        from . import aio

        return await aio.receive(cast("RemoteSubscriber", item._waited()), timeout, take)


REMOTE = _Remote()
