# SPDX-License-Identifier: Apache-2.0
"""How far a stream has come, and how far it may go next: the source process's view of the topics."""

from __future__ import annotations

import time
from typing import Any

from slipring._bus.ranges import Ranges

from .. import executors
from ..bus_directory import BusDirectory
from . import offset_ranges as plan
from . import offsets
from . import start_offsets as places
from .cursors import Cursors
from .loss_report import Tally
from .offset_ranges import Range
from .offsets import Offsets, Position
from .options import SourceOptions
from .start_offsets import Place
from .topics import Topics

STREAM_START = Place("startingOffsets", places.LATEST)
FIRST_SEQUENCE = 0  # where reading begins on a topic that came while the stream ran
RELEASE_AFTER_S = 30.0  # without messages: what was read is released even if it is little of the ring


class Progress:
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._topics = Topics(options)
        self._cursors = Cursors(options, self._topics.bus)
        self.tally = Tally()
        self._first: dict[str, Position] | None = None
        self._ends: dict[str, Position] | None = None  # of an availableNow run
        self._known: Offsets = {}  # where the newest batch ends, of topics that are read
        self._waiting_since = time.monotonic()
        self._released: Offsets | None = None  # for which a batch was asked to release what is before it
        self._halves: dict[str, tuple[tuple[int, int, int], bool]] = {}  # whether so much was half of a ring

    def close(self) -> None:
        self._cursors.close()
        self._topics.close()
        self.tally.close()

    def directory(self) -> BusDirectory:
        """What the tasks of a batch have to see, and the executors that run now do."""
        executors.check(self._topics.bus.path)
        return BusDirectory.of(self._topics.bus.path)

    # Beginning

    def first(self) -> Offsets:
        """Where a new stream begins. Spark asks twice; on reliable topics the cursor remembers the answer."""
        if self._first is None:
            self._first = {topic: self._begin(topic) for topic in self._topics.names()}
        return self._first

    def _begin(self, topic: str, sequence: int | None = None) -> Position:
        """At a given sequence, or where the options say."""
        ranges = self._topics.get(topic)
        place = self._options.starting or STREAM_START
        at = self._topics.sequence(topic, place) if sequence is None else sequence
        exact = sequence is not None or isinstance(place.of(topic), int)
        if ranges.delivery == "reliable":
            position, is_new = self._cursors.hold(topic, ranges, at)
            # What is gone of a sequence that was asked for is loss, and reading finds it. "earliest" is what
            # is there.
            at = at if is_new and exact else position
        return Position(ranges.generation, at, at)

    # Going on

    def following(self, start: Offsets, limited: bool) -> Offsets:
        """Where the next batch ends; `start` itself when there is none yet. A topic that is read no more keeps its
        place there: when it is named again, the stream goes on with it."""
        self._known = now = self._present(start)
        ends = {topic: self._end(topic, at) for topic, at in now.items()}
        if limited:
            waiting = {
                topic: ends[topic] - self._readable(topic, at, ends[topic]) for topic, at in now.items()
            }
            if self._ends is None and self._too_few(sum(waiting.values())):
                return start
            ends = self._limited(now, ends, waiting)
        found = {
            topic: Position(at.generation, max(at.next, ends[topic]), at.origin) for topic, at in now.items()
        }
        self._known = found
        found = {**start, **found}
        if found != start:
            self._waiting_since = time.monotonic()
        return found

    def _present(self, start: Offsets) -> dict[str, Position]:
        """The place on each topic of the stream as it is now: new ones begin, others have to be the same."""
        names = self._topics.names()
        if self._options.pattern is not None:
            # One that is gone: an error, or what was unread of it is a last part of the stream.
            away = start.keys() - set(names)
            names += [topic for topic in away if self._topics.same(topic, start[topic].generation) is None]
        now: dict[str, Position] = {}
        for topic in names:
            at = start.get(topic)
            if at is not None:
                now[topic] = self._continued(topic, at)
            elif self._ends is None or topic in self._ends:  # else it came after this availableNow run began
                now[topic] = self._begin(topic, FIRST_SEQUENCE if self._options.pattern else None)
        return now

    def _continued(self, topic: str, at: Position) -> Position:
        ranges = self._topics.same(topic, at.generation)
        if ranges is not None:
            if ranges.delivery == "reliable":
                self._cursors.resume(topic, ranges, at.next)
            return at
        is_gone = self._topics.find(topic) is None  # and allowed to be; it may come again
        is_unread = self._final_end(topic, at) > at.next
        return at if is_gone or is_unread else self._begin(topic, FIRST_SEQUENCE)

    def _final_end(self, topic: str, at: Position) -> int:
        """Of a topic that is gone: what lies before it and is not read is lost, and counted by the tasks."""
        end = self._cursors.final_end(topic, at.generation)
        return at.next if end is None else max(at.next, end)

    def _ranges(self, topic: str, at: Position) -> Ranges | None:
        """The topic, if it is still the one of that position."""
        ranges = self._topics.find(topic)
        return ranges if ranges is not None and ranges.generation == at.generation else None

    def _end(self, topic: str, at: Position) -> int:
        """Up to where a topic can be read."""
        ranges = self._ranges(topic, at)
        if ranges is None:
            return self._final_end(topic, at)
        if self._ends is None:
            return ranges.committed(at.next)
        fixed = self._ends.get(topic)
        if fixed is None or fixed.generation != at.generation:
            return at.next
        # defect spark_available_now_endless: return ranges.committed(at.next)
        return max(at.next, min(ranges.committed(at.next), fixed.next))

    def _readable(self, topic: str, at: Position, end: int) -> int:
        """From where on there is something left to read."""
        ranges = self._ranges(topic, at)
        return end if ranges is None else min(max(at.next, ranges.oldest()), end)

    def _too_few(self, rows: int) -> bool:
        least, waited = self._options.min_rows, time.monotonic() - self._waiting_since
        return least is not None and rows < least and waited < self._options.max_delay_s

    def _limited(
        self, now: dict[str, Position], ends: dict[str, int], waiting: dict[str, int]
    ) -> dict[str, int]:
        if self._options.max_rows:
            shares = plan.share_rows(self._options.max_rows, waiting)
            ends = {topic: end - waiting[topic] + shares.get(topic, 0) for topic, end in ends.items()}
        if self._options.max_bytes:
            wanted = {
                topic: end
                for topic, end in ends.items()
                if end > now[topic].next and self._ranges(topic, now[topic]) is not None
            }

            def end_of(topic: str, size: int) -> int:
                return self._topics.get(topic).committed(now[topic].next, size=size)

            ends = ends | plan.share_bytes(self._options.max_bytes, wanted, end_of)
        return ends

    def fix_end(self) -> None:
        """An availableNow run ends at what is there now."""
        self._ends = {}
        for topic in self._topics.names():
            ranges = self._topics.get(topic)
            end = ranges.committed(ranges.oldest())
            self._ends[topic] = Position(ranges.generation, end, end)

    # Batches

    def ranges(self, start: Offsets, end: Offsets) -> list[Range]:
        """What a batch reads: exactly what was logged, also by another run, whatever the options say now."""
        found = []
        for topic, at in end.items():
            begin = offsets.beginning(start.get(topic), at)
            if begin >= at.next:
                continue
            ranges = self._topics.same(topic, at.generation)
            if ranges is not None and ranges.delivery == "reliable":
                # defect spark_released_before_commit: self._cursors.resume(topic, ranges, begin)
                #     self._cursors.commit(topic, at.generation, at.next)
                # defect spark_cursor_not_resumed: pass
                self._cursors.resume(topic, ranges, begin)
            found.append(Range(topic, at.generation, begin, at.next))
        return found

    def release(self, end: Offsets) -> None:
        """Spark has committed everything below: cursors move."""
        for topic, at in end.items():
            self._cursors.commit(topic, at.generation, at.next)

    def is_release_due(self, end: Offsets) -> bool:
        """Whether a batch that reads nothing is needed, for Spark to commit the one before: publishers may be waiting
        for what that one holds, and then no message comes that would make a batch. Once for each place."""
        if end == self._released or not any(self._fills_ring(topic, at) for topic, at in end.items()):
            return False
        self._released = end
        return True

    def _fills_ring(self, topic: str, at: Position) -> bool:
        """Half of a ring, or less for long, is held and read."""
        held, ranges = self._cursors.position(topic, at.generation), self._ranges(topic, at)
        if ranges is None or held is None or held >= at.next:
            return False
        if time.monotonic() - self._waiting_since > RELEASE_AFTER_S:
            return True
        key = at.generation, held, at.next
        if self._halves.get(topic, (None,))[0] != key:
            self._halves[topic] = key, self._is_half(topic, ranges, held, at.next)
        return self._halves[topic][1]

    def _is_half(self, topic: str, ranges: Ranges, start: int, end: int) -> bool:
        """Whether [start, end) takes half of the ring, by slots or by bytes."""
        facts = self._topics.bus.stats(topic)
        half = facts["capacity"] // 2
        if 2 * (end - start) >= facts["slots"] or ranges.committed(start, size=half) < end:
            return True
        if end - start > 1:
            return False
        # One message is always let through by `committed`: what it weighs is asked for.
        return any(batch.nbytes > half for batch in ranges.batches(start, end, ("value",)))

    def report(self) -> dict[str, Any] | None:
        """Where the stream could be, for Spark's progress: the difference to where it is is the lag."""
        if not self._known:
            return None
        now = {
            topic: Position(at.generation, self._end(topic, at), at.origin)
            for topic, at in self._known.items()
        }
        lost = self.tally.by_topic()
        return {**offsets.dump(now), "lost": lost} if lost else offsets.dump(now)
