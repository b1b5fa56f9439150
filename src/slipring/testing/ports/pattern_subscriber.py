# SPDX-License-Identifier: Apache-2.0
"""PatternSubscriber of a stepped bus: waits for a message or a new topic, not in slices of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from slipring._bus.patterns.subscriber import PatternSubscriber

if TYPE_CHECKING:
    from ..simulation import Simulation
    from .handle import Handle

T = TypeVar("T")


class _Simulated(Protocol):
    """A stepped bus."""

    @property
    def _simulation(self) -> Simulation: ...


class SteppedPatternSubscriber(PatternSubscriber):
    """Made by `SteppedBus.subscriber`."""

    @property
    def _simulation(self) -> Simulation:
        return cast("_Simulated", self._bus)._simulation

    def _sleep(self, left: float | None) -> None:
        self._simulation.scheduler.block(self._ready, left, f"recv on '{self.topic}'")

    async def _until(self, timeout: float | None, take: Callable[[], T | None]) -> T | None:
        return await self._simulation.until_ready(self._ready, timeout, take)

    def _handles_to_kill(self) -> list[Handle]:
        return [cast("Handle", part.subscriber) for part in self._parts]


SteppedPatternSubscriber.__module__ = "slipring.testing"
