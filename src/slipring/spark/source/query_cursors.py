# SPDX-License-Identifier: Apache-2.0
"""The query's durable cursors: one on each reliable topic, named by option groupId.

A cursor keeps the messages that the query has not finished with, through the death of every process. The source process
holds the cursors; only commit moves them.

A cursor may be behind the checkpoint, when Spark skipped a commit: more is kept than needed. If it is ahead, another
reader moved it. A missing cursor was dropped or has expired; it is created again at the position of the checkpoint, and
reading finds and counts the messages that were lost meanwhile.
"""

from __future__ import annotations

import time

from slipring._bus.bus import Bus
from slipring._bus.ranges import RangeReader
from slipring._bus.subscriber import Subscriber
from slipring.errors import Busy, TopicGone, TopicNotFound

from ..errors import BadOption, CursorGone, CursorInUse, CursorMoved, TopicReplaced
from .options import SourceOptions

# defect spark_predecessor_not_awaited: PREDECESSOR_ENDS_S = -1.0
PREDECESSOR_ENDS_S = 15.0  # the source process of the previous run may still be ending
POLL_S = 0.05


class QueryCursors:
    def __init__(self, options: SourceOptions, bus: Bus) -> None:
        self._options, self._bus = options, bus
        self._held: dict[tuple[str, int], Subscriber] = {}
        self._positions: dict[tuple[str, int], int] = {}  # only the holder moves a cursor

    def hold(self, topic: str, reader: RangeReader, start: int) -> tuple[int, bool]:
        """Hold the messages from `start` on. Return the cursor's position, and whether the cursor is new.

        A new cursor is at `start`, or at the oldest message that is left."""
        key = topic, reader.generation
        if key in self._held:
            return self._positions[key], False
        group = self._options.group
        if group is None:
            raise BadOption(
                "groupId",
                f"topic {topic!r} is reliable: give the query a unique name, for a cursor that keeps messages until "
                f"Spark has committed them",
            )
        try:
            is_new = self._position(topic, group) is None
            subscriber = self._attach(topic, group, max(start, reader.oldest()))
        except (TopicGone, TopicNotFound):
            raise TopicReplaced(topic, reader.generation, None) from None
        try:
            position = self._position(topic, group)
            reader.oldest()  # the file is still present: the subscriber is attached to the same one
        except (TopicGone, TopicNotFound):
            subscriber.close()
            raise TopicReplaced(topic, reader.generation, None) from None
        if position is None:
            subscriber.close()
            raise CursorGone(topic, group)
        self._held[key], self._positions[key] = subscriber, position
        return position, is_new

    def resume(self, topic: str, reader: RangeReader, start: int) -> None:
        """Hold the messages from `start`, the position of a checkpoint, on."""
        position, _ = self.hold(topic, reader, start)
        # defect spark_moved_cursor_accepted: if False:
        if position > start >= reader.oldest() and self._options.fail_on_loss:
            raise CursorMoved(topic, self._options.group or "", position, start)

    def position(self, topic: str, generation: int) -> int | None:
        """Return the sequence below which everything is released; None: the topic is not held."""
        return self._positions.get((topic, generation))

    def final_end(self, topic: str, generation: int) -> int | None:
        """Return the end of a topic that was removed while it was held; None: it is not known."""
        held = self._held.get((topic, generation))
        return None if held is None else held.position + held.lag

    def commit(self, topic: str, generation: int, end: int) -> None:
        """Release everything below `end`. It may be repeated; for a removed topic it does nothing."""
        key = topic, generation
        if key not in self._held or end <= self._positions[key]:
            return
        try:
            self._held[key].seek(end)
            # defect spark_never_released: pass
            self._held[key].commit(end)
        except TopicGone as error:
            if error.argument == "cursor":
                raise CursorGone(topic, self._options.group or "") from None
            return  # the topic was removed with its messages; reading will find out
        self._positions[key] = end

    def _attach(self, topic: str, group: str, start: int) -> Subscriber:
        deadline = time.monotonic() + PREDECESSOR_ENDS_S
        while True:
            try:
                return self._bus.subscriber(
                    topic, start=start, cursor=group, expires=self._options.group_expires_s
                )
            except Busy as error:
                if error.argument != "cursor":
                    raise
                if time.monotonic() > deadline:
                    raise CursorInUse(topic, group) from None
            time.sleep(POLL_S)

    def _position(self, topic: str, group: str) -> int | None:
        positions = {cursor["name"]: cursor["position"] for cursor in self._bus.cursors(topic)}
        return positions.get(group)

    def close(self) -> None:
        for subscriber in self._held.values():
            subscriber.close()
        self._held.clear()
