# SPDX-License-Identifier: Apache-2.0
"""What a clock is: the standard library's `time` is one.

Code that takes its time from `bus.clock` can be tested in virtual time (slipring.testing).
"""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """The part of the `time` module that goes with a bus."""

    def monotonic(self) -> float: ...
    def monotonic_ns(self) -> int: ...

    def time_ns(self) -> int: ...

    def sleep(self, seconds: float, /) -> None: ...
