# SPDX-License-Identifier: Apache-2.0
"""How one kind of bus waits. `slipring.wait` works with all: each subscriber brings its own `_waits`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar

from .native import _native

SPIN_US = 20.0
T = TypeVar("T")


class Bell(Protocol):
    def ring(self) -> None: ...


class Waits(Protocol):
    """One object for all subscribers that can be waited for together."""

    def monotonic(self) -> float:
        """The clock of time-outs, in seconds."""
        ...

    def with_others(self) -> frozenset[Waits]:
        """Whose subscribers it can wait for in one call: its own, and those of some other kinds."""
        ...

    def sleep(
        self,
        items: tuple[Waitable, ...],
        timeout: float | None,
        bell: _native.Bell | None = None,
        rings: int = 0,
    ) -> None:
        """Until one of the items may have something, the bell has rung more than `rings` times, or sooner; at most
        timeout."""
        ...

    async def until(self, item: Waitable, timeout: float | None, take: Callable[[], T | None]) -> T | None:
        """Return what `take` finds at the item, or None on expiry. `take` never waits. Cancelling loses nothing."""
        ...


class Waited(Protocol):
    """What sleeps: a subscriber."""

    @property
    def _waits(self) -> Waits: ...


class Waitable(Protocol):
    """What can be given to `slipring.wait`."""

    @property
    def topic(self) -> str: ...

    def _ready(self) -> bool: ...

    def _waited(self) -> Waited:
        """The subscriber to sleep on: itself, or one's own."""
        ...


class _Bells:
    """Bells that are rung together. There is no lock, which a forked child might inherit locked: each step is one
    operation of a dict."""

    def __init__(self) -> None:
        self._bells: dict[int, Bell] = {}

    def add(self, bell: Bell) -> None:
        self._bells[id(bell)] = bell

    def remove(self, bell: Bell) -> None:
        self._bells.pop(id(bell), None)

    def ring(self) -> None:
        for bell in self._bells.copy().values():
            bell.ring()


# Of everybody in this process who waits for a member. A member rings them when it has moved messages from the ring to
# its inbox: the ring wakes nobody for these.
INBOX_BELLS: Final = _Bells()


@contextmanager
def inbox_bell() -> Iterator[_native.Bell]:
    """A bell that rings whenever a member has moved messages to its inbox."""
    bell = _native.Bell()
    INBOX_BELLS.add(bell)
    try:
        yield bell
    finally:
        INBOX_BELLS.remove(bell)


class _SharedMemory:
    """All topics of this host, in one futex call."""

    monotonic = staticmethod(time.monotonic)

    def with_others(self) -> frozenset[Waits]:
        return frozenset((self,))

    def sleep(
        self,
        items: tuple[Waitable, ...],
        timeout: float | None,
        bell: _native.Bell | None = None,
        rings: int = 0,
    ) -> None:
        subscribers: Any = tuple(
            item._waited() for item in items
        )  # compiled ones, since their waits are these
        _native.wait(subscribers, bell, rings, timeout, SPIN_US)

    async def until(self, item: Waitable, timeout: float | None, take: Callable[[], T | None]) -> T | None:
        from . import aio  # asyncio is slow to import, and most programs do without

        return await aio.until(item, timeout, take)


SHARED_MEMORY: Waits = _SharedMemory()
