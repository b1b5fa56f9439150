# SPDX-License-Identifier: Apache-2.0
"""How one kind of bus waits. `slipring.wait` works with all: each subscriber brings its own `_waits`."""

from __future__ import annotations

import time
from typing import Any, Protocol

from .native import _native

SPIN_US = 20.0


class Waits(Protocol):
    """One object for all subscribers that can be waited for together."""

    def monotonic(self) -> float:
        """The clock of time-outs, in seconds."""
        ...

    def with_others(self) -> frozenset[Waits]:
        """Whose subscribers it can wait for in one call: its own, and those of some other kinds."""
        ...

    def sleep(self, subscribers: tuple[Any, ...], timeout: float | None) -> None:
        """Until one of them may have something, or sooner; at most timeout."""
        ...


class Waited(Protocol):
    """What sleeps: a subscriber."""

    @property
    def _waits(self) -> Waits: ...


class Waitable(Protocol):
    """What can be given to `slipring.wait`."""

    def _ready(self) -> bool: ...

    def _waited(self) -> Waited:
        """The subscriber to sleep on: itself, or one's own."""
        ...


class _SharedMemory:
    """All topics of this host, in one futex call."""

    monotonic = staticmethod(time.monotonic)

    def with_others(self) -> frozenset[Waits]:
        return frozenset((self,))

    def sleep(self, subscribers: tuple[Any, ...], timeout: float | None) -> None:
        _native.wait(subscribers, None, 0, timeout, SPIN_US)


SHARED_MEMORY: Waits = _SharedMemory()
