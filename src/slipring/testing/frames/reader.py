# SPDX-License-Identifier: Apache-2.0
"""The reader below a `FrameSubscriber` of a stepped bus. It follows the topic's announcements. For each one it holds
the buffer, or counts the frame as lost. Ids have no gaps: the next id also shows how many announcements were lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipring._bus.frames.streams import Stream
from slipring._bus.settings import START_LAST, START_NEW, START_OLDEST, START_SEQ, timeout_s
from slipring.errors import Closed, TooManyReaders, TopicExists, TopicNotFound

from ..ports.lent_memory import show
from ..ring.reader import Reader
from ..ring.ring import COMMITTED, Entry
from .announcement import Announcement, counts_before, decode
from .pool import SENT, Hold, Pool
from .source import FrameSource

if TYPE_CHECKING:
    from slipring._bus.frames.store import Taken

_ANY_ID = None  # expected: the first that comes is right


class SteppedFrameReader:
    def __init__(
        self, source: FrameSource, stream: str | None, start: int, conflate: bool, insist: tuple[Stream, ...]
    ) -> None:
        self._source, self._stream, self._conflate, self._insist = source, stream, conflate, insist
        self._expected: list[int | None] = []
        self._unseen: int | None = 0
        self._received = self._lost = self._filtered = 0
        self._begun = self._closed = False
        reader = source._reader
        if reader is not None:
            self._begin(reader, start)

    def _begin(self, reader: Reader, start: int) -> None:
        """The topic is there."""
        topic = self._source._topic
        assert topic is not None
        if not topic.is_frames:
            text = f"topic '{topic.name}' carries messages, not frames: use bus.subscriber()"
            raise TopicExists(text, argument="topic", found="messages", asked="frames")
        if reader.index is None:
            most = f"max_readers={topic.geometry.max_readers} live subscribers"
            text = f"topic '{topic.name}' already has {most}; only they can hold frames: "
            text += "create it with a larger max_readers="
            raise TooManyReaders(text, argument="max_readers")
        self._unseen = 0 if start in (START_NEW, START_SEQ) else _ANY_ID
        self._follow()
        if start == START_NEW and self._source.pool is not None:
            self._expected = [*counts_before(self._source.pool, reader.ring, reader.position)]
        elif start == START_OLDEST:
            reader.go_to(START_OLDEST, 0)
        elif start == START_LAST:
            self._go_to_newest(reader)
        self._begun = True

    def _go_to_newest(self, reader: Reader) -> None:
        ring = reader.ring
        for seq in range(ring.tail - 1, ring.oldest - 1, -1):
            entry = ring.entries[seq]
            if entry.state is COMMITTED and reader.options.passes(entry):
                reader.go_to(START_SEQ, seq)
                return
        if self._source.pool is not None:
            self._expected = [*counts_before(self._source.pool, ring, reader.position)]

    # Which pool

    def _follow(self) -> None:
        """The buffers that are there now, unless they are the ones we have."""
        topic = self._source._topic
        if topic is None or topic.pool is None or not self._source.is_replaced():
            return
        pool, old = topic.pool, self._source.pool
        self._check_streams(pool)
        before = {} if old is None else {s[0]: n for s, n in zip(old.streams, self._expected, strict=True)}
        self._expected = [
            before.get(stream[0], self._unseen if old is None else first)
            for stream, first in zip(pool.streams, pool.first_ids, strict=True)
        ]
        self._source.pool = pool

    def _check_streams(self, pool: Pool) -> None:
        topic = self._source.topic
        if self._stream is not None and pool.find(self._stream) is None:
            names = ", ".join(f"'{stream[0]}'" for stream in pool.streams)
            text = f"topic '{topic}' has no stream '{self._stream}'; its streams are {names}"
            raise TopicNotFound(text, argument="stream")
        for stream in pool.streams:
            for asked in self._insist if self._stream in (None, stream[0]) else ():
                _check_insisted(topic, stream, asked)

    # Taking

    def recv(self, timeout: float | None, /) -> Taken | None:
        seconds = timeout_s(timeout)
        source = self._source
        clock = source._simulation.clock
        deadline_ns = clock.deadline_ns(seconds)
        while True:
            taken = self._try_take()
            if taken is not None or seconds == 0:
                return taken
            left = None if deadline_ns is None else max(0, deadline_ns - clock.monotonic_ns()) / 1e9
            if not source._wait(source._ready, left, "recv of frames"):
                return self._try_take()

    def _try_take(self) -> Taken | None:
        if self._closed:
            raise Closed("this subscriber is closed")
        reader = self._source._enter()
        if reader is None:
            return None
        if not self._begun:
            self._begin(reader, START_SEQ)
        while reader.peek() is not None:
            seq, entry = reader.position, reader.accept()
            announcement = decode(entry.body)
            hold = self._take_announced(announcement)
            if hold is not None:
                self._received += 1
                return self._describe(hold, announcement, entry, seq)
        if self._source.is_done_with_pool():
            self._follow()
        return None

    def _take_announced(self, announcement: Announcement) -> Hold | None:
        """None: it is lost."""
        if self._source.pool is None or self._source.pool.generation != announcement.pool:
            self._follow()
        pool = self._source.pool
        if pool is None or pool.generation != announcement.pool:
            return None  # of buffers that are no more: counted with the next id that is seen
        expected = self._expected[announcement.stream]
        missed = 0 if expected is _ANY_ID else max(0, announcement.id - expected)
        self._filtered += missed if self._conflate else 0
        self._lost += 0 if self._conflate else missed
        self._expected[announcement.stream] = announcement.id + 1
        buffer = pool.buffers[announcement.buffer]
        if buffer.state is not SENT or buffer.number != announcement.number:
            # defect stepped_overwritten_frame_uncounted: pass
            self._lost += 1
            return None
        hold = Hold(pool, announcement.buffer)
        pool.holds.append(hold)
        return hold

    def _describe(self, hold: Hold, announcement: Announcement, entry: Entry, seq: int) -> Taken:
        source, pool = self._source, hold.pool
        source.holds = (*(one for one in source.holds if one in one.pool.holds), hold)

        def ended() -> None:
            hold.end()
            source._simulation.changed()

        region = show(pool.buffers[announcement.buffer].content, ended)
        source._note_received(seq)
        source._pass_point("held")
        stream: Any = pool.streams[announcement.stream]
        times = entry.time_ns, announcement.start_ns, announcement.end_ns
        meta = announcement.meta, announcement.meta_kind
        return region, stream, announcement.id, seq, announcement.run, *times, *meta

    def streams(self) -> tuple[Stream, ...]:
        return () if self._source.pool is None else self._source.pool.streams

    def counts(self) -> tuple[int, int, int]:
        return self._received, self._lost, self._filtered

    def close(self) -> None:
        self._closed = True


def _check_insisted(topic: str, stream: Stream, asked: Stream) -> None:
    if asked[0] not in ("", stream[0]):
        return
    for argument, there, wanted in (("dtype", stream[2], asked[2]), ("shape", stream[1], asked[1])):
        if wanted and there != wanted:
            text = f"stream '{stream[0]}' of '{topic}' has {argument}={there}, asked for {wanted}"
            raise TopicExists(text, argument=argument, found=str(there), asked=str(wanted))
