# SPDX-License-Identifier: Apache-2.0
"""FramePublisher: returns arrays that are filled in place and sent when their block ends."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument, TopicNotFound

from ..cells import dtypes
from ..closing import Closing, Unpicklable
from ..native import _native
from ..publisher import Publisher
from ..settings import nanoseconds
from .store import FrameWriter
from .streams import NEEDS

if TYPE_CHECKING:
    import numpy

META_NONE, META_BYTES, META_JSON = range(3)


def _encode(meta: Any) -> tuple[bytes, int]:
    if meta is None:
        return b"", META_NONE
    if isinstance(meta, (bytes, bytearray, memoryview)):
        return _native.body_bytes(meta), META_BYTES
    try:
        return json.dumps(meta, separators=(",", ":")).encode(), META_JSON
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"meta must be bytes, or a value that JSON can write: {error}") from None


class Filling(Unpicklable):
    """A frame being filled: `with publisher.frame() as array`.

    meta, start_ns and end_ns may be changed until the block ends; id and seq are set then."""

    __slots__ = (
        "_array",
        "_base",
        "_buffer",
        "_region",
        "_stream",
        "_writer",
        "end_ns",
        "id",
        "meta",
        "seq",
        "start_ns",
    )

    def __init__(self, writer: FrameWriter, stream: _Stream, meta: Any, start_ns: int, end_ns: int) -> None:
        self._writer = writer
        self._stream = stream
        self._region: Any = None
        self.meta = meta
        self.start_ns = start_ns
        self.end_ns = end_ns
        self.id: int | None = None
        self.seq: int | None = None

    def __enter__(self) -> numpy.ndarray[Any, Any]:
        if self._region is not None or self.id is not None:
            raise RuntimeError("a frame is filled once: ask for another")
        self._region, self._buffer = self._writer.take(self._stream.number)
        # Views of the array have the same base, so its count of references shows whether any is left.
        self._base: Any = self._stream.ndarray(self._stream.shape, self._stream.dtype, self._region)
        self._array: Any = self._base[...]
        array: numpy.ndarray[Any, Any] = self._array
        return array

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if self._region is None:
            return
        self._array.flags.writeable = False
        # defect frames_view_outlives_block: left = False
        left = sys.getrefcount(self._base) > 3  # ours, that of our array, that of this call
        region, buffer = self._region, self._buffer
        self._region = self._base = self._array = None
        if left and kind is None:
            raise BufferError(
                "nothing was sent: slices or views of the array are still in use and could change the frame; "
                "delete them before the block ends"
            )
        if left:
            return  # aborted when these views are freed
        try:
            if kind is None:
                body, meta_kind = _encode(self.meta)
                start_ns = nanoseconds("start_ns", self.start_ns)
                end_ns = nanoseconds("end_ns", self.end_ns)
                self.id, self.seq = self._writer.send(region, buffer, body, meta_kind, start_ns, end_ns)
        finally:
            if self.id is None:
                self._writer.abort(region, buffer)


class _Stream:
    """One stream, with all that is needed to make its arrays."""

    __slots__ = ("dtype", "ndarray", "number", "shape")

    def __init__(self, number: int, shape: tuple[int, ...], dtype: Any) -> None:
        self.number = number
        self.shape = shape
        self.dtype = dtype
        self.ndarray = dtypes.numpy(NEEDS).ndarray


class FramePublisher(Closing):
    """Sends frames. Made by `Frames.publisher`; one at a time."""

    def __init__(self, publisher: Publisher, writer: FrameWriter) -> None:
        self._publisher = publisher
        self._writer = writer
        self._streams = {
            name: _Stream(number, shape, dtypes.from_text(text, size, NEEDS))
            for number, (name, shape, text, size, _) in enumerate(writer.streams())
        }

    def frame(
        self,
        stream: str | None = None,
        meta: Any = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> Filling:
        """Return a context manager: an array in a free buffer, sent on exit, discarded on an exception.

        Never waits: raises Full if every buffer is held. meta: bytes, or a value that JSON can write."""
        return Filling(self._writer, self._find(stream), meta, start_ns or 0, end_ns or 0)

    def send(self, array: Any, stream: str | None = None, meta: Any = None, **times: int) -> int:
        """Copy an array into a buffer and send it; return the frame's id."""
        numpy = dtypes.numpy(NEEDS)
        given = numpy.asarray(array)
        filling = self.frame(stream, meta, **times)
        with filling as target:
            if given.shape != target.shape:
                raise BadArgument(
                    f"array has shape {given.shape}, frames of the stream have {target.shape}",
                    argument="array",
                )
            dtypes.refuse_cuts(numpy, given, target.dtype, "array")
            target[...] = given
        assert filling.id is not None
        return filling.id

    def _find(self, stream: str | None) -> _Stream:
        if stream is None and len(self._streams) == 1:
            return next(iter(self._streams.values()))
        names = ", ".join(repr(name) for name in self._streams)
        if stream is None:
            raise BadArgument(f"stream must be given; the streams are {names}", argument="stream")
        if stream not in self._streams:
            raise TopicNotFound(
                f"topic {self.topic!r} has no stream {stream!r}; its streams are {names}", argument="stream"
            )
        return self._streams[stream]

    @property
    def topic(self) -> str:
        return self._publisher.topic

    @property
    def sender(self) -> str:
        return self._publisher.sender

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(self._streams)

    @property
    def closed(self) -> bool:
        return self._publisher.closed

    def wait_for_subscribers(self, n: int = 1, timeout: float | None = None) -> bool:
        """Wait until at least n subscribers are attached; return False after timeout."""
        return self._publisher.wait_for_subscribers(n, timeout)

    def close(self) -> None:
        """Detach. A frame being filled is discarded when its block ends."""
        self._writer.close()
        self._publisher.close()

    def __repr__(self) -> str:
        state = " closed" if self.closed else ""
        return f"<FramePublisher {self.topic!r} streams={', '.join(self.streams)}{state}>"


FramePublisher.__module__ = "slipring"
