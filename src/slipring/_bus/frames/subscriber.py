# SPDX-License-Identifier: Apache-2.0
"""FrameSubscriber: frames in place, held while their block, or an array made in it, lives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slipring.errors import Closed, Corrupt

from ..cells import dtypes
from ..closing import Closing, Unpicklable
from ..subscriber import Subscriber
from .publisher import META_JSON, META_NONE
from .store import FrameReader
from .streams import NEEDS

if TYPE_CHECKING:
    import numpy


class Frame(Unpicklable):
    """One frame: array (read-only, in place), id, time_ns, start_ns, end_ns, meta, stream, seq, run."""

    __slots__ = ("_array", "_meta", "end_ns", "id", "run", "seq", "start_ns", "stream", "time_ns")

    def __init__(self, taken: tuple[Any, ...]) -> None:
        region, (self.stream, shape, text, size, _), *numbers, meta, kind = taken
        self.id, self.seq, self.run, self.time_ns, self.start_ns, self.end_ns = numbers
        self._meta = (meta, kind)
        self._array: Any = dtypes.numpy(NEEDS).ndarray(shape, dtypes.from_text(text, size, NEEDS), region)

    @property
    def array(self) -> numpy.ndarray[Any, Any]:
        """The frame itself, in shared memory; not usable after its block."""
        if self._array is None:
            raise Closed("this frame was released: use it inside its block, or copy it")
        array: numpy.ndarray[Any, Any] = self._array
        return array

    @property
    def meta(self) -> Any:
        """The value that the publisher gave: None, bytes, or a value that was sent as JSON."""
        meta, kind = self._meta
        if kind == META_NONE:
            return None
        if kind != META_JSON:
            return meta
        try:
            return json.loads(meta)
        except (ValueError, RecursionError) as error:
            raise Corrupt(f"the metadata of frame {self.id} is not JSON: {error}", argument="meta") from None

    def __repr__(self) -> str:
        state = " released" if self._array is None else f" {self._array.shape} {self._array.dtype}"
        return f"<Frame {self.id} of {self.stream!r}{state}>"


class Receiving(Unpicklable):
    """`with subscriber.recv(timeout) as frame`, or `async with subscriber.arecv(timeout) as frame`."""

    __slots__ = ("_frame", "_subscriber", "_timeout")

    def __init__(self, subscriber: FrameSubscriber, timeout: float | None) -> None:
        self._subscriber = subscriber
        self._timeout = timeout
        self._frame: Frame | None = None

    def __enter__(self) -> Frame | None:
        taken = self._subscriber._reader.recv(self._timeout)
        self._frame = None if taken is None else Frame(taken)
        return self._frame

    def __exit__(self, *exc: object) -> None:
        if self._frame is not None:
            self._frame._array = None
        self._frame = None

    async def __aenter__(self) -> Frame | None:
        reader = self._subscriber._reader
        taken = await self._subscriber.subscriber._until(self._timeout, lambda: reader.recv(0))
        self._frame = None if taken is None else Frame(taken)
        return self._frame

    async def __aexit__(self, *exc: object) -> None:
        self.__exit__()


class FrameSubscriber(Closing):
    """Receives frames. Made by `Frames.subscriber`; usable before the topic exists."""

    def __init__(self, subscriber: Subscriber, reader: FrameReader, stream: str | None) -> None:
        self.subscriber = subscriber
        self._reader = reader
        self.stream = stream

    def recv(self, timeout: float | None = None) -> Receiving:
        """Return a context manager: the next frame, or None after timeout.

        The frame is held, and does not change, until the block ends and no array made in it is left."""
        return Receiving(self, timeout)

    def arecv(self, timeout: float | None = None) -> Receiving:
        """`recv` for asyncio: `async with subscriber.arecv() as frame`."""
        return Receiving(self, timeout)

    def _ready(self) -> bool:
        return self.subscriber._ready()

    def _waited(self) -> Subscriber:
        return self.subscriber

    @property
    def topic(self) -> str:
        return self.subscriber.topic

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams that are known so far."""
        return tuple(stream[0] for stream in self._reader.streams())

    @property
    def spin_us(self) -> float:
        """How long `recv` spins before it sleeps. With more than the interval of frames, publishers need not wake it,
        at the price of a processor."""
        return self.subscriber.spin_us

    @spin_us.setter
    def spin_us(self, us: float) -> None:
        self.subscriber.spin_us = us

    @property
    def received(self) -> int:
        """Frames delivered by this subscriber."""
        return self._reader.counts()[0]

    @property
    def lost(self) -> int:
        """Frames that were overwritten before this subscriber read them, exactly."""
        return self._reader.counts()[1]

    @property
    def filtered(self) -> int:
        """Frames passed over by conflation."""
        return self._reader.counts()[2]

    @property
    def attached(self) -> bool:
        return self.subscriber.attached

    @property
    def closed(self) -> bool:
        return self.subscriber.closed

    def stats(self) -> dict[str, Any]:
        received, lost, filtered = self._reader.counts()
        own = {"received": received, "lost": lost, "filtered": filtered}
        return {**self.subscriber.stats(), **own, "stream": self.stream}

    def close(self) -> None:
        """Detach; waits end with Closed. Frames whose arrays are in use stay held until these are freed."""
        self._reader.close()
        self.subscriber.close()

    def __repr__(self) -> str:
        state = " closed" if self.closed else "" if self.attached else " waiting for its topic"
        stream = "" if self.stream is None else f" stream={self.stream!r}"
        return f"<FrameSubscriber {self.topic!r}{stream}{state}>"


for _class in (Frame, FrameSubscriber):
    _class.__module__ = "slipring"
