# SPDX-License-Identifier: Apache-2.0
"""Virtual time: it stands still unless a call waits or the test advances it. It has whole nanoseconds, so that sums are
exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable

START_NS = 1_767_225_600 * 10**9  # 2026-01-01T00:00:00Z


class VirtualClock:
    """`bus.clock`, the counterpart of the `time` module of a real bus."""

    def __init__(self, start_ns: int, sleep: Callable[[float], None]) -> None:
        self._start_ns = start_ns
        self._passed_ns = 0
        self._sleep = sleep

    def monotonic_ns(self) -> int:
        """Return nanoseconds since the bus was created."""
        return self._passed_ns

    def monotonic(self) -> float:
        """Return seconds since the bus was created."""
        return self._passed_ns / 1e9

    def time_ns(self) -> int:
        """Return nanoseconds since the epoch, as in the time stamps of messages."""
        return self._start_ns + self._passed_ns

    def time(self) -> float:
        """Return seconds since the epoch."""
        return self.time_ns() / 1e9

    def sleep(self, seconds: float, /) -> None:
        """Wait. Deliveries, spawned functions and time continue meanwhile."""
        self._sleep(seconds)

    def deadline_ns(self, seconds: float | None) -> int | None:
        """Return a deadline on the scale of monotonic_ns; None for no limit."""
        return None if seconds is None else self._passed_ns + math.ceil(seconds * 1e9)

    def _go_to(self, monotonic_ns: int) -> None:
        self._passed_ns = max(self._passed_ns, monotonic_ns)

    def __repr__(self) -> str:
        return f"<VirtualClock {self.monotonic():.9f} s>"
