# SPDX-License-Identifier: Apache-2.0
"""The state of a stream in the source process: where it begins, where its next batch ends, what may be released.

A batch ends with the newest committed messages within the limits (`next_end`). Its ranges follow from the logged
offsets alone (`ranges`). After Spark has committed it, the cursors move (`release`).
"""

from __future__ import annotations

import time
from typing import Any

from slipring._bus.ranges import RangeReader

from .. import executors
from ..bus_directory import BusDirectory
from . import offset_ranges, offsets, start_offsets
from .loss_report import LossReport
from .offset_ranges import Range
from .offsets import Offsets, Position
from .open_topics import OpenTopics
from .options import SourceOptions
from .query_cursors import QueryCursors
from .start_offsets import OffsetBound

STREAM_START = OffsetBound("startingOffsets", start_offsets.LATEST)
FIRST_SEQUENCE = 0  # where the stream begins on a topic that appeared while it ran
RELEASE_AFTER_S = 30.0  # without messages: then even a small part of the ring is released


class MicroBatchStream:
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._topics = OpenTopics(options)
        self._cursors = QueryCursors(options, self._topics.bus)
        self.loss_report = LossReport()
        self._first: dict[str, Position] | None = None
        self._available_now_ends: dict[str, Position] | None = None  # None: the stream has no end
        self._newest_end: Offsets = {}  # the end of the newest batch, of topics that are read
        self._waiting_since = time.monotonic()
        self._released_for: Offsets | None = None  # the end for which a releasing batch was requested
        # by topic: a range that was checked, and whether it takes half of the ring
        self._halves: dict[str, tuple[tuple[int, int, int], bool]] = {}

    def close(self) -> None:
        self._cursors.close()
        self._topics.close()
        self.loss_report.close()

    def directory(self) -> BusDirectory:
        """Return the bus directory that the tasks have to see; check the executors that run now."""
        executors.check(self._topics.bus.path)
        return BusDirectory.of(self._topics.bus.path)

    # Where the stream begins

    def first(self) -> Offsets:
        """Return where a new stream begins. Spark asks twice; on reliable topics the cursor keeps the answer."""
        if self._first is None:
            self._first = {topic: self._begin(topic) for topic in self._topics.names()}
        return self._first

    def _begin(self, topic: str, sequence: int | None = None) -> Position:
        """Return where the stream begins on a topic: at a given sequence, or as the options say."""
        reader = self._topics.get(topic)
        bound = self._options.starting or STREAM_START
        at = self._topics.sequence(topic, bound) if sequence is None else sequence
        exact = sequence is not None or isinstance(bound.of(topic), int)
        if reader.delivery == "reliable":
            position, is_new = self._cursors.hold(topic, reader, at)
            # Messages that are gone from a given sequence on are lost; reading finds that. "earliest" is the oldest
            # present message.
            at = at if is_new and exact else position
        return Position(reader.generation, at, at)

    # The end of the next batch

    def next_end(self, start: Offsets, limited: bool) -> Offsets:
        """Return the end of the next batch, or `start` itself when there is no batch yet.

        A topic that is no longer read keeps its position: when it is named again, the stream continues there."""
        self._newest_end = now = self._present(start)
        ends = {topic: self._readable_end(topic, at) for topic, at in now.items()}
        if limited:
            waiting = {
                topic: ends[topic] - self._first_readable(topic, at, ends[topic]) for topic, at in now.items()
            }
            if self._available_now_ends is None and self._too_few(sum(waiting.values())):
                return start
            ends = self._limited(now, ends, waiting)
        found = {
            topic: Position(at.generation, max(at.next, ends[topic]), at.begun_at)
            for topic, at in now.items()
        }
        self._newest_end = found
        found = {**start, **found}
        if found != start:
            self._waiting_since = time.monotonic()
        return found

    def _present(self, start: Offsets) -> dict[str, Position]:
        """Return the position on each present topic: new topics begin, other topics must have the same generation."""
        names = self._topics.names()
        if self._options.pattern is not None:
            # A removed topic is an error, or its unread messages are its last part of the stream.
            away = start.keys() - set(names)
            names += [
                topic for topic in away if self._topics.of_generation(topic, start[topic].generation) is None
            ]
        now: dict[str, Position] = {}
        for topic in names:
            at = start.get(topic)
            if at is not None:
                now[topic] = self._continued(topic, at)
            elif self._available_now_ends is None or topic in self._available_now_ends:
                now[topic] = self._begin(topic, FIRST_SEQUENCE if self._options.pattern else None)
            # Otherwise the topic is too new for this availableNow run.
        return now

    def _continued(self, topic: str, at: Position) -> Position:
        """Return the position on a topic that the stream reads already; a topic that replaced it begins."""
        reader = self._topics.of_generation(topic, at.generation)
        if reader is not None:
            if reader.delivery == "reliable":
                self._cursors.resume(topic, reader, at.next)
            return at
        is_gone = self._topics.find(topic) is None  # loss is allowed; it may appear again
        is_unread = self._end_of_removed(topic, at) > at.next
        return at if is_gone or is_unread else self._begin(topic, FIRST_SEQUENCE)

    def _end_of_removed(self, topic: str, at: Position) -> int:
        """Return the end of a removed topic; the tasks count the unread messages before it as lost."""
        end = self._cursors.final_end(topic, at.generation)
        return at.next if end is None else max(at.next, end)

    def _reader(self, topic: str, at: Position) -> RangeReader | None:
        """Return the reader of a topic if the topic still has the generation of that position."""
        reader = self._topics.find(topic)
        return reader if reader is not None and reader.generation == at.generation else None

    def _readable_end(self, topic: str, at: Position) -> int:
        """Return the sequence up to which a topic can be read."""
        reader = self._reader(topic, at)
        if reader is None:
            return self._end_of_removed(topic, at)
        if self._available_now_ends is None:
            return reader.settled_end(at.next)
        fixed = self._available_now_ends.get(topic)
        if fixed is None or fixed.generation != at.generation:
            return at.next
        # defect spark_available_now_endless: return reader.settled_end(at.next)
        return max(at.next, min(reader.settled_end(at.next), fixed.next))

    def _first_readable(self, topic: str, at: Position, end: int) -> int:
        """Return the first sequence that is left to read."""
        reader = self._reader(topic, at)
        return end if reader is None else min(max(at.next, reader.oldest()), end)

    def _too_few(self, rows: int) -> bool:
        least, waited = self._options.min_rows, time.monotonic() - self._waiting_since
        return least is not None and rows < least and waited < self._options.max_delay_s

    def _limited(
        self, now: dict[str, Position], ends: dict[str, int], waiting: dict[str, int]
    ) -> dict[str, int]:
        """Return the ends within the limits of rows and bytes; waiting: the sequences left to read on each topic."""
        if self._options.max_rows:
            shares = offset_ranges.share_rows(self._options.max_rows, waiting)
            ends = {topic: end - waiting[topic] + shares.get(topic, 0) for topic, end in ends.items()}
        if self._options.max_bytes:
            wanted = {
                topic: end
                for topic, end in ends.items()
                if end > now[topic].next and self._reader(topic, now[topic]) is not None
            }

            def end_of(topic: str, size: int) -> int:
                return self._topics.get(topic).settled_end(now[topic].next, size=size)

            ends = ends | offset_ranges.share_bytes(self._options.max_bytes, wanted, end_of)
        return ends

    def fix_available_now_ends(self) -> None:
        """End an availableNow run with the messages that are present now."""
        self._available_now_ends = {}
        for topic in self._topics.names():
            reader = self._topics.get(topic)
            end = reader.settled_end(reader.oldest())
            self._available_now_ends[topic] = Position(reader.generation, end, end)

    # A logged batch

    def ranges(self, start: Offsets, end: Offsets) -> list[Range]:
        """Return the ranges of a batch: exactly the logged offsets, also those of an earlier run or other options."""
        found = []
        for topic, at in end.items():
            begin = offsets.beginning(start.get(topic), at)
            if begin >= at.next:
                continue
            reader = self._topics.of_generation(topic, at.generation)
            if reader is not None and reader.delivery == "reliable":
                # defect spark_released_before_commit: self._cursors.resume(topic, reader, begin)
                #     self._cursors.commit(topic, at.generation, at.next)
                # defect spark_cursor_not_resumed: pass
                self._cursors.resume(topic, reader, begin)
            found.append(Range(topic, at.generation, begin, at.next))
        return found

    def release(self, end: Offsets) -> None:
        """Move the cursors, because Spark has committed everything before."""
        for topic, at in end.items():
            self._cursors.commit(topic, at.generation, at.next)

    def is_release_due(self, end: Offsets) -> bool:
        """Whether a batch that reads nothing is needed, so that Spark commits the one before. True once per end.

        Publishers may wait for the space that the batch before holds, and then no message makes a next batch."""
        if end == self._released_for or not any(self._fills_ring(topic, at) for topic, at in end.items()):
            return False
        self._released_for = end
        return True

    def _fills_ring(self, topic: str, at: Position) -> bool:
        """Whether the messages that are held and read take half of the ring, or less for a long time."""
        held, reader = self._cursors.position(topic, at.generation), self._reader(topic, at)
        if reader is None or held is None or held >= at.next:
            return False
        if time.monotonic() - self._waiting_since > RELEASE_AFTER_S:
            return True
        now = at.generation, held, at.next
        checked = self._halves.get(topic)
        if checked is None or checked[0] != now:
            checked = self._halves[topic] = now, self._is_half(topic, reader, held, at.next)
        return checked[1]

    def _is_half(self, topic: str, reader: RangeReader, start: int, end: int) -> bool:
        """Whether [start, end) takes half of the ring, by slots or by bytes."""
        facts = self._topics.bus.stats(topic)
        half = facts["capacity"] // 2
        if 2 * (end - start) >= facts["slots"] or reader.settled_end(start, size=half) < end:
            return True
        if end - start > 1:
            return False
        # `settled_end` always includes one message: read it to learn its size.
        return any(batch.nbytes > half for batch in reader.batches(start, end, ("value",)))

    def report(self) -> dict[str, Any] | None:
        """Return the offsets up to which the stream could read, for Spark's progress; the difference is the lag."""
        if not self._newest_end:
            return None
        now = {
            topic: Position(at.generation, self._readable_end(topic, at), at.begun_at)
            for topic, at in self._newest_end.items()
        }
        lost = self.loss_report.by_topic()
        return {**offsets.dump(now), "lost": lost} if lost else offsets.dump(now)
