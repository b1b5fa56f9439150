# SPDX-License-Identifier: Apache-2.0
"""Answers to their calls on a stepped bus: whoever waits reads, for all, when there is something to be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from slipring._bus.calls import encoding
from slipring._bus.calls.awaiting import Awaiting
from slipring._bus.calls.inbox import Inbox
from slipring._bus.calls.pending import Pending
from slipring.errors import SlipringError

from .aio import until

if TYPE_CHECKING:
    from slipring._bus.publisher import Publisher
    from slipring._bus.subscriber import Subscriber

    from .publisher import SteppedPublisher
    from .world import World


class SteppedInbox(Inbox):
    def __init__(
        self,
        world: World,
        replies: Subscriber,
        requests: Publisher,
        lives: Callable[[int], bool],
        send: Callable[[bytes], bool],
    ) -> None:
        super().__init__(replies, lives, send)
        self._world = world
        self._requests = cast("SteppedPublisher", requests)
        self.tasks = SteppedAwaiting(world, self)

    def wait(self, call: Pending, deadline: float | None) -> None:
        """Until the call has something; Timeout at the deadline (of the virtual clock)."""
        clock = self._world.clock
        while not self.look(call):
            left = None if deadline is None else deadline - clock.monotonic()
            if left is not None and left <= 0:
                raise call.late()
            what = f"the answer to '{call.method}'"
            self._world.scheduler.block(lambda: self.may_go_on(call), left, what)

    def look(self, call: Pending) -> bool:
        """Read what is there; whether the call has something."""
        while not call.ready and self._read(0):
            pass
        return call.ready

    def may_go_on(self, call: Pending) -> bool:
        """Whether looking would find something."""
        # defect stepped_dead_server_unnoticed: if call.ready:
        if call.ready or not self._lives(call.instance):
            return True
        try:
            return self._replies._ready() or self._can_pay()
        except SlipringError:
            return True  # found again, and told, when it is read

    def _can_pay(self) -> bool:
        """Whether there is room for credit that found none."""
        owing = (call for call in self._calls.values() if call.window and call.owed)
        return any(
            self._requests._has_room(len(encoding.credit(call.req_id, call.owed)), "") for call in owing
        )


class SteppedAwaiting(Awaiting):
    """Tasks of asyncio, which need no thread to read for them."""

    def __init__(self, world: World, inbox: SteppedInbox) -> None:
        super().__init__(inbox.read_once)
        self._world = world
        self._inbox = inbox

    async def wait(self, call: Pending, deadline: float | None) -> None:
        left = None if deadline is None else max(0.0, deadline - self._world.clock.monotonic())
        found = await until(
            self._world, lambda: self._inbox.may_go_on(call), left, lambda: self._inbox.look(call) or None
        )
        if not found:
            raise call.late()
