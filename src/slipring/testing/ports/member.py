# SPDX-License-Identifier: Apache-2.0
"""Member of a stepped bus: waits for room or for incoming messages, not in slices of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from slipring._bus.member import INBOX_BYTES, Member
from slipring._bus.publisher import BY_DELIVERY
from slipring._bus.python_handle import body_bytes
from slipring._bus.settings import timeout_s
from slipring.errors import Full

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .handle import Handle
    from .publisher import SteppedPublisher
    from .subscriber import SteppedSubscriber


class SteppedMember(Member):
    """Made by `SteppedBus.join`."""

    def send_raw(self, body: Buffer, type: str = "", timeout: float | None = BY_DELIVERY) -> int:
        """Send bytes to all other members; a send that finds no room takes incoming messages into the inbox."""
        publisher = cast("SteppedPublisher", self._publisher)
        subscriber = cast("SteppedSubscriber", self.subscriber)
        if timeout is BY_DELIVERY:
            timeout = None if self._reliable else 0
        simulation, seconds = publisher._simulation, timeout_s(timeout)
        deadline_ns = simulation.clock.deadline_ns(seconds)
        content = body_bytes(body)

        def may_go_on() -> bool:
            return publisher._has_room(len(content), type) or subscriber._ready()

        while True:
            try:
                return publisher.send_raw(content, type, 0)
            except Full:
                if self._inbox_bytes > INBOX_BYTES:
                    raise
                if self._take_in():
                    continue
                left = None if deadline_ns is None else (deadline_ns - simulation.clock.monotonic_ns()) / 1e9
                if left is not None and left <= 0:
                    raise
                simulation.scheduler.block(may_go_on, left, f"send of a member of '{self.topic}'")

    def _handles_to_kill(self) -> list[Handle]:
        return [cast("Handle", self._publisher), cast("Handle", self.subscriber)]


SteppedMember.__module__ = "slipring.testing"
