# SPDX-License-Identifier: Apache-2.0
"""The store of frames: it returns the writers and readers of buffers.

The API of frames (frames/frames.py, frames/publisher.py, frames/subscriber.py) is the same over the store of shared
memory, which is here, and that of a stepped bus (slipring.testing).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from slipring.errors import TopicExists

from .. import settings
from ..native import _native
from ..publisher import Publisher
from ..subscriber import Subscriber
from ..typed.subscriber_reading import Reading
from . import streams as frame_streams
from .streams import Stream

if TYPE_CHECKING:
    Taken = tuple[Any, Stream, int, int, int, int, int, int, bytes, int]


class FrameWriter(Protocol):
    """Over a publisher, the topic's only one."""

    def take(self, stream: int, /) -> tuple[Any, int]:
        """Return a free buffer as memory, and its number; raises Full if there is none."""
        ...

    def send(
        self, region: Any, buffer: int, meta: bytes, meta_kind: int, start_ns: int, end_ns: int, /
    ) -> tuple[int, int]:
        """Send a buffer; return the frame's id, and the sequence of its announcement."""
        ...

    def abort(self, region: Any, buffer: int, /) -> None: ...
    def streams(self) -> tuple[Stream, ...]: ...
    def close(self) -> None: ...


class FrameReader(Protocol):
    """Over a subscriber of the announcements."""

    def recv(self, timeout: float | None, /) -> Taken | None:
        """Return (memory, stream, id, seq, run, time_ns, start_ns, end_ns, meta, kind of meta) or None."""
        ...

    def streams(self) -> tuple[Stream, ...]: ...
    def counts(self) -> tuple[int, int, int]: ...
    def close(self) -> None: ...


class FrameStore(Protocol):
    def writer(
        self, topic: str, sender: str, given: dict[str, int], streams: tuple[Stream, ...]
    ) -> tuple[Publisher, FrameWriter]: ...

    def reader(
        self, topic: str, stream: str | None, start: int, conflate: bool, insist: tuple[Stream, ...]
    ) -> tuple[Subscriber, FrameReader]: ...

    def look(self, topic: str) -> list[dict[str, Any]]:
        """Return the streams that exist."""
        ...


class SharedFrames:
    """The frames of one bus directory."""

    def __init__(self, path: str, make_directory: Callable[[], None]) -> None:
        self._path = path
        self._make_directory = make_directory

    def writer(
        self, topic: str, sender: str, given: dict[str, int], streams: tuple[Stream, ...]
    ) -> tuple[Publisher, FrameWriter]:
        self._make_directory()
        made = self._make(topic, given)
        publisher = None
        try:
            publisher = Publisher(self._path, topic, sender, given)
            return publisher, _native.FrameWriter(publisher, self._path, topic, streams)
        except BaseException:
            if made:  # a topic without buffers is of no use
                _native.topic_remove(self._path, topic)
            if publisher is not None:
                publisher.close()
            raise

    def _make(self, topic: str, given: dict[str, int]) -> bool:
        """Create the topic; return False if it exists. Opening the publisher checks whether it can be used."""
        try:
            _native.topic_create(self._path, topic, given, False)
        except TopicExists:
            return False
        return True

    def reader(
        self, topic: str, stream: str | None, start: int, conflate: bool, insist: tuple[Stream, ...]
    ) -> tuple[Subscriber, FrameReader]:
        arguments = (settings.START_NEW, 0, -1, False, None, 0, None, (), (), None)
        subscriber = Subscriber(self._path, topic, arguments, Reading())
        try:
            return subscriber, _native.FrameReader(subscriber, stream, start, conflate, insist)
        except BaseException:
            subscriber.close()
            raise

    def look(self, topic: str) -> list[dict[str, Any]]:
        return frame_streams.look(self._path, topic)
