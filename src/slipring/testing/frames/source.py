# SPDX-License-Identifier: Apache-2.0
"""A subscriber of the announcements of a frames topic on a stepped bus, with its holds and the pool it knows."""

from __future__ import annotations

from ..ports.handle import KILLED
from ..ports.subscriber import SteppedSubscriber
from .pool import Hold, Pool


class FrameSource(SteppedSubscriber):
    """Its holds end with it only if it is killed."""

    holds: tuple[Hold, ...] = ()
    pool: Pool | None = None  # of the last announcement

    def _ready(self) -> bool:
        return super()._ready() or self.is_done_with_pool()

    def is_replaced(self) -> bool:
        """Whether the topic has other buffers by now."""
        there = None if self._topic is None else self._topic.pool
        # defect stepped_new_buffers_ignored: return there is not None and there is not self.pool and self.pool is None
        return there is not None and there is not self.pool and (self.pool is None or self.pool.replaced)

    def is_done_with_pool(self) -> bool:
        """Whether the topic has others, and nothing of these is still on its way."""
        reader = self._reader
        # defect stepped_frames_in_flight_dropped: return self.is_replaced() and reader is not None
        return self.is_replaced() and reader is not None and reader.next_delivery() is None

    def _end(self, state: str) -> None:
        # defect stepped_killed_holder_keeps_frames: for hold in ():
        for hold in self.holds if state is KILLED else ():
            hold.end()
        super()._end(state)
