# SPDX-License-Identifier: Apache-2.0
"""PatternSubscriber of a stepped bus: waits for a message or a new topic, not in slices of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from slipring._bus.pattern_subscriber import PatternSubscriber, Take

if TYPE_CHECKING:
    from .bus import SteppedBus
    from .handle import Handle

T = TypeVar("T")


class SteppedPatternSubscriber(PatternSubscriber):
    """Made by `SteppedBus.subscriber`."""

    def _sleep(self, left: float | None) -> None:
        world = cast("SteppedBus", self._bus)._world
        world.scheduler.block(self._ready, left, f"recv on '{self.topic}'")

    async def _until(self, timeout: float | None, take: Take[T]) -> T | None:
        from .aio import until

        world = cast("SteppedBus", self._bus)._world
        return await until(world, self._ready, timeout, lambda: self._try(take))

    def _mortals(self) -> list[Handle]:
        return [cast("Handle", part.subscriber) for part in self._parts]


SteppedPatternSubscriber.__module__ = "slipring.testing"
