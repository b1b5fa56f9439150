# SPDX-License-Identifier: Apache-2.0
"""Replies to calls on a stepped bus. Each waiting call reads for all calls when a reply has arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from slipring._bus.calls import envelope
from slipring._bus.calls.client.replies import PendingCall, Replies
from slipring.errors import SlipringError

if TYPE_CHECKING:
    from ..ports.publisher import SteppedPublisher
    from ..simulation import Simulation


class SteppedReplies(Replies):
    def __init__(self, simulation: Simulation, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._simulation = simulation

    def wait(self, call: PendingCall, deadline: float | None) -> None:
        """Wait until the call has a value or an error; Timeout at the deadline (of the virtual clock)."""
        clock = self._simulation.clock
        while not self._look(call):
            left = None if deadline is None else deadline - clock.monotonic()
            if left is not None and left <= 0:
                raise call.timeout_error()
            what = f"the answer to '{call.method}'"
            self._simulation.scheduler.block(lambda: self._may_continue(call), left, what)

    async def wait_in_task(self, call: PendingCall, deadline: float | None) -> None:
        """`wait` for asyncio, without a thread that reads."""
        left = None if deadline is None else max(0.0, deadline - self._simulation.clock.monotonic())
        found = await self._simulation.until_ready(
            lambda: self._may_continue(call), left, lambda: self._look(call) or None
        )
        if not found:
            raise call.timeout_error()

    def _look(self, call: PendingCall) -> bool:
        """Read all available replies; return whether the call has one."""
        while not call.ready and self._read(0):
            pass
        return call.ready

    def _may_continue(self, call: PendingCall) -> bool:
        """Whether reading would find something."""
        # defect stepped_dead_server_unnoticed: if call.ready:
        if call.ready or not self._lives(call.instance):
            return True
        try:
            return self._replies._ready() or self._can_pay()
        except SlipringError:
            return True  # found again, and raised, when it is read

    def _can_pay(self) -> bool:
        """Whether there is room for credit that found none."""
        requests = cast("SteppedPublisher", self._requests)
        owing = (call for call in self._calls.values() if call.window and call.owed)
        return any(requests._has_room(len(envelope.credit(call.req_id, call.owed)), "") for call in owing)
