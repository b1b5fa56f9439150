# SPDX-License-Identifier: Apache-2.0
"""The buffers of a frames topic on a stepped bus, and their holders. The rules are those of shared memory
(docs/spec/frames.md).

A buffer is free, being written, or holds a sent frame. The number of a frame is never used again. The writer cannot
take a held buffer. A hold lasts until its last array is gone, or its holder is killed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from slipring._bus.frames.streams import Stream, describe
from slipring._bus.settings import check_text
from slipring.errors import BadArgument

FREE, WRITING, SENT = "free", "writing", "sent"
_MAX_STREAMS, _MAX_BUFFERS, _MAX_NAME, _MAX_DTYPE, _MAX_BYTES = 16, 64, 63, 95, 1 << 40


@dataclass(slots=True)
class Buffer:
    content: bytes = b""  # empty: nothing was ever written
    state: str = FREE
    number: int = 0  # of the frame it holds, or held last


@dataclass(eq=False)
class Pool:
    generation: int
    streams: tuple[Stream, ...]
    first_ids: list[int]  # how many frames each stream had had before
    runs: int = 0  # publishers so far
    replaced: bool = False
    holds: list[Hold] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.buffers = [Buffer() for stream in self.streams for _ in range(stream[4])]

    def find(self, name: str) -> int | None:
        """The number of a stream."""
        return next((i for i, stream in enumerate(self.streams) if stream[0] == name), None)

    def of_stream(self, number: int) -> range:
        """The numbers of its buffers."""
        first = sum(stream[4] for stream in self.streams[:number])
        return range(first, first + self.streams[number][4])

    def held(self) -> set[int]:
        """Return the numbers of held buffers."""
        return {hold.buffer for hold in self.holds}

    def facts(self) -> list[dict[str, Any]]:
        """Return the facts that `Frames.streams` shows."""
        held = self.held()
        counts = [len(held & set(self.of_stream(number))) for number in range(len(self.streams))]
        return describe(self.streams, counts)


@dataclass(eq=False, slots=True)
class Hold:
    """Of one frame, by one subscriber."""

    pool: Pool
    buffer: int

    def end(self) -> None:
        if self in self.pool.holds:
            self.pool.holds.remove(self)


def frame_bytes(stream: Stream) -> int:
    _, shape, _, item_size, _ = stream
    return item_size * math.prod(shape)


def check_streams(streams: tuple[Stream, ...]) -> None:
    """Refuse streams that no pool can have."""
    if len(streams) > _MAX_STREAMS:
        text = f"a topic has 1 to {_MAX_STREAMS} streams, not {len(streams)}"
        raise BadArgument(text, argument="streams")
    for stream in streams:
        name, shape, dtype, _, _ = stream
        if len(name.encode()) > _MAX_NAME:
            text = f"the name of a stream may have at most {_MAX_NAME} characters"
            raise BadArgument(text, argument="streams")
        check_text("streams", name)
        if len(dtype.encode()) > _MAX_DTYPE:
            raise BadArgument(f"dtype may have at most {_MAX_DTYPE} characters", argument="dtype")
        if frame_bytes(stream) > _MAX_BYTES:
            text = f"shape={shape} needs {frame_bytes(stream)} bytes, at most 2**40"
            raise BadArgument(text, argument="shape")
    if sum(stream[4] for stream in streams) > _MAX_BUFFERS:
        text = f"all streams together have at most {_MAX_BUFFERS} buffers"
        raise BadArgument(text, argument="buffers")
    if sum(stream[4] * frame_bytes(stream) for stream in streams) > _MAX_BYTES:
        raise BadArgument("the buffers need more than 2**40 bytes in total", argument="buffers")
