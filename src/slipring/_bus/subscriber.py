# SPDX-License-Identifier: Apache-2.0
"""Subscriber: the compiled type, plus Arrow batches, asyncio, seeking and statistics (account.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self, TypeVar

from .account import Account
from .arrow_capsules import ArrowBatch
from .native import _native
from .waits import SHARED_MEMORY

if TYPE_CHECKING:
    import pyarrow

Message = _native.Message


def _message_html(message: Message) -> str:
    from . import notebook  # only notebooks need it

    return notebook.message(message)


Message._repr_html_ = _message_html  # type: ignore[method-assign, assignment]
T = TypeVar("T")


class Subscriber(Account, _native.Subscriber):
    """Receives a topic's messages, in order. Made by `Bus.subscriber`; usable before the topic exists."""

    __slots__ = ("__weakref__",)
    _waits = SHARED_MEMORY

    def recv_batch(self, n: int = 65536, timeout: float | None = 0) -> pyarrow.RecordBatch:
        """Up to n messages as one Arrow batch; waits at most timeout for the first."""
        from . import batches

        arrow = batches.pyarrow()
        return arrow.record_batch(ArrowBatch(self._recv_batch(n, timeout)))

    async def arecv(self, timeout: float | None = None) -> Message | None:
        """`recv` for asyncio: the same subscriber, without blocking the loop."""
        return await self._until(timeout, lambda: self.recv(0))

    async def _until(self, timeout: float | None, take: Callable[[], T | None]) -> T | None:
        """What `take` finds here, or None on expiry; cancelling loses nothing."""
        from . import aio  # asyncio is slow to import, and most programs do without

        return await aio.until(self, timeout, take)

    def _take_here(self) -> Message | None:
        """The next message that is here; never waits."""
        return self.recv(0)

    def _waited(self) -> Self:
        return self


Subscriber.__module__ = "slipring"
