# SPDX-License-Identifier: Apache-2.0
"""The writer below a `FramePublisher` of a stepped bus: it takes buffers, and sends their content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slipring._bus.frames.streams import Stream
from slipring.errors import BadArgument, Closed, Full, SlipringError, TooLarge

from ..ports.lent_memory import Region, lend
from .announcement import Announcement, counts_before
from .pool import FREE, SENT, WRITING, Pool, check_streams, frame_bytes

if TYPE_CHECKING:
    from ..ports.publisher import SteppedPublisher

_MAX_META = 16384


class SteppedFrameWriter:
    def __init__(self, publisher: SteppedPublisher, streams: tuple[Stream, ...]) -> None:
        check_streams(streams)
        self._publisher = publisher
        self._topic = publisher._topic
        self._simulation = publisher._simulation
        self._closed = False
        self._open: dict[int, int] = {}  # buffers being written: since when
        self._seqs: dict[int, int] = {}  # of buffers sent by this writer: the announcement's
        self._pool = self._take_over(streams)
        self._pool.runs += 1
        self._run = self._pool.runs
        for buffer in self._pool.buffers:
            if buffer.state is WRITING:
                buffer.state = FREE  # an unfinished frame of a killed writer
        self._number = max(buffer.number for buffer in self._pool.buffers)

    def _take_over(self, streams: tuple[Stream, ...]) -> Pool:
        """Continue with the existing pool, or create another one, which readers follow."""
        topic, old = self._topic, self._topic.pool
        if old is None and not streams:
            text = f"topic '{topic.name}' has no frame buffers yet: pass shape= and dtype="
            raise BadArgument(text, argument="shape")
        self._counts = [] if old is None else counts_before(old, topic.ring, topic.ring.tail)
        if old is not None and (not streams or old.streams == streams):
            return old
        before = {} if old is None else dict(zip((one[0] for one in old.streams), self._counts, strict=True))
        first_ids = [before.get(stream[0], 0) for stream in streams]
        pool = Pool(self._simulation.generation(), streams, first_ids, old.runs if old else 0)
        if old is not None:
            old.replaced = True
        topic.pool = pool
        self._counts = first_ids[:]
        self._simulation.note(f"buffers {topic.name} {', '.join(stream[0] for stream in streams)}")
        self._simulation.changed()
        return pool

    def _check(self) -> None:
        if self._closed:
            raise Closed("this publisher is closed")
        self._publisher._check_open()
        self._topic.check()

    # Taking

    def take(self, stream: int, /) -> tuple[Region, int]:
        self._check()
        chosen = self._choose(stream)
        name, _, _, _, count = self._pool.streams[stream]
        if chosen is None:
            text = f"all {count} buffers of stream '{name}' are held by subscribers or are being written"
            raise Full(f"{text}: release frames earlier, or open it with more buffers=", argument="buffers")
        buffer = self._pool.buffers[chosen]
        buffer.state = WRITING
        self._open[chosen] = self._simulation.clock.time_ns()
        self._seqs.pop(chosen, None)
        content = buffer.content or frame_bytes(self._pool.streams[stream])
        region = lend(content, lambda: self._give_back(chosen))
        return region, chosen

    def _choose(self, stream: int) -> int | None:
        """Return the buffer to write next: of those that every reader has passed the one sent last, else the oldest.
        The newest frame is chosen only if there is no other."""
        pool, buffers = self._pool, self._pool.of_stream(stream)
        numbers = {buffer: self._number_in(buffer) for buffer in buffers}
        newest = max(buffers, key=lambda buffer: numbers[buffer])
        newest = newest if numbers[newest] else -1
        # defect stepped_held_frame_overwritten: excluded = set(self._open)
        excluded = pool.held() | set(self._open)
        free = [buffer for buffer in buffers if buffer not in excluded and buffer != newest]
        positions = [reader.position for reader in self._topic.readers if reader.index is not None]
        passed = min(positions, default=0)
        hot = [buffer for buffer in free if numbers[buffer] and self._seqs.get(buffer, passed) + 1 < passed]
        if hot:
            return max(hot, key=lambda buffer: numbers[buffer])
        if free:
            return min(free, key=lambda buffer: numbers[buffer])
        return newest if newest >= 0 and newest not in excluded else None

    def _number_in(self, number: int) -> int:
        """Return the number of the frame in a buffer, 0 if it has none."""
        buffer = self._pool.buffers[number]
        return buffer.number if buffer.state is SENT else 0

    # Sending

    def send(
        self, region: Region, buffer: int, meta: bytes, meta_kind: int, start_ns: int, end_ns: int, /
    ) -> tuple[int, int]:
        self._check()
        if len(meta) > _MAX_META:
            text = f"meta has {len(meta)} bytes; at most {_MAX_META} are allowed"
            raise TooLarge(text, argument="meta")
        pool = self._pool
        stream = next(number for number in range(len(pool.streams)) if buffer in pool.of_stream(number))
        counts = [count + (number == stream) for number, count in enumerate(self._counts)]
        announcement = Announcement(
            pool.generation, self._number + 1, self._counts[stream],
            start_ns or self._open[buffer], end_ns or self._simulation.clock.time_ns(),
            buffer, stream, len(meta), meta_kind, self._run, tuple(counts), meta,
        )  # fmt: skip
        self._number += 1
        written = pool.buffers[buffer]
        written.content, written.state, written.number = bytes(region), SENT, self._number
        try:
            publisher = self._publisher
            seq = publisher._send(announcement.encode(), pool.streams[stream][0], publisher.sender, None, 0)
        except SlipringError:
            written.state = FREE
            raise
        self._counts = counts
        self._seqs[buffer] = seq
        del self._open[buffer]
        region.ended = None
        return announcement.id, seq

    def abort(self, region: Region, buffer: int, /) -> None:
        region.ended = None
        self._give_back(buffer)

    def _give_back(self, buffer: int) -> None:
        """Free a buffer, unless it was sent or belongs to the next writer."""
        if self._open.pop(buffer, None) is not None and not self._publisher.closed:
            self._pool.buffers[buffer].state = FREE

    def streams(self) -> tuple[Stream, ...]:
        return self._pool.streams

    def close(self) -> None:
        for buffer in list(self._open):
            self._give_back(buffer)
        self._closed = True
