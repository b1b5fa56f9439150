# SPDX-License-Identifier: Apache-2.0
"""When the next message is due, and how late it was sent.

The first message fixes the schedule. Each later message is due after the recorded time between them, divided by the
speed. Nothing shifts the schedule: a delayed message is sent as soon as possible, and its lateness is counted. So
errors do not add up, and the figures cannot hide a delay.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from slipring.errors import BadArgument

SPIN_NS = 80_000  # a sleep ends about this late: the rest is a busy wait
SLICE_NS = 250_000_000  # longest wait without progress
_SHOW_NS = 5_000_000  # showing progress takes less than this
_FINE_BITS = 7  # lateness is kept to within one per cent


class Lateness:
    """The lateness of messages, in memory that does not grow with their number."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._most_ns = 0

    def add(self, late_ns: int) -> None:
        rough = late_ns.bit_length() - _FINE_BITS
        self._counts[late_ns if rough <= 0 else late_ns >> rough << rough] += 1
        if late_ns > self._most_ns:
            self._most_ns = late_ns

    def percentiles(self, *percents: float) -> dict[str, float | None]:
        """Return seconds by name: ``p50``, ``p99.9`` and ``max``; None if nothing was counted."""
        total = self._counts.total()
        found: dict[str, float | None] = {}
        for percent in percents:
            found[f"p{percent:g}"] = self._at(total * percent / 100) if total else None
        return {**found, "max": self._most_ns / 1e9 if total else None}

    def _at(self, rank: float) -> float:
        passed = 0
        for late_ns in sorted(self._counts):
            passed += self._counts[late_ns]
            if passed >= rank:
                return late_ns / 1e9
        return self._most_ns / 1e9


class Pace:
    """The schedule of a replay at ``speed``; None: as fast as possible."""

    def __init__(self, speed: float | None) -> None:
        self.speed = speed
        self.lateness = Lateness()
        self._first_ns: int | None = None
        self._began_ns = 0

    def due_ns(self, recorded_ns: int) -> int:
        """Return the time of the monotonic clock at which a message of that recorded time is due."""
        if self._first_ns is None:
            self._first_ns, self._began_ns = recorded_ns, time.monotonic_ns()
        if self.speed is None:
            return self._began_ns
        return self._began_ns + int((recorded_ns - self._first_ns) / self.speed)

    def wait(self, due_ns: int, meanwhile: Callable[[], None]) -> None:
        """Wait until ``due_ns``, and call ``meanwhile`` while there is time for it."""
        while (left_ns := due_ns - time.monotonic_ns()) > 0:
            if left_ns > _SHOW_NS:
                meanwhile()
                left_ns = due_ns - time.monotonic_ns()
            if left_ns > SPIN_NS:
                time.sleep(min(left_ns - SPIN_NS, SLICE_NS) / 1e9)

    def sent(self, due_ns: int) -> None:
        """Count a message that was due then, and was sent now."""
        self.lateness.add(max(0, time.monotonic_ns() - due_ns))


def read_speed(speed: float | str) -> float | None:
    """Return a factor above 0, or None for ``"max"``."""
    if speed == "max":
        return None
    try:
        factor = float(speed)
    except (TypeError, ValueError):
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise BadArgument(
            f'speed={speed!r} must be a number above 0 (1: as recorded) or "max"', argument="speed"
        )
    return factor
