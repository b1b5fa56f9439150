# SPDX-License-Identifier: Apache-2.0
"""Frames: made by `Bus.frames`; makes publishers and subscribers of large arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex

from .. import settings
from ..cells import dtypes
from ..closing import Unpicklable
from . import streams as frame_streams
from .publisher import FramePublisher
from .store import FrameStore
from .subscriber import FrameSubscriber

if TYPE_CHECKING:
    from ..bus import Bus

# Room for the announcements of many frames: of a fast stream, while a slow one's reader has time.
_ANNOUNCEMENTS: dict[str, Any] = {"capacity": "1MiB", "slots": 4096, "delivery": "lossy", "writers": "one"}
_FRAMES = {"content": 1}


class Frames(Unpicklable):
    """A frames topic. Made by `Bus.frames`; opens nothing by itself.

    >>> frames = bus.frames("cam", shape=(720, 1280, 3), dtype="u1", buffers=4)
    >>> with frames.publisher() as pub, pub.frame() as array: array[:] = image
    >>> with frames.subscriber().recv() as frame: show(frame.array)
    """

    def __init__(
        self,
        bus: Bus,
        store: FrameStore,
        topic: str,
        shape: Any,
        dtype: Any,
        buffers: SupportsIndex | None,
        streams: Any,
        topic_settings: dict[str, Any],
    ) -> None:
        dtypes.numpy(frame_streams.NEEDS)
        self.topic = topic
        self._bus = bus
        self._store = store
        self._given = (shape, dtype, buffers, streams)
        self._settings = settings.topic_settings(**{**_ANNOUNCEMENTS, **topic_settings}) | _FRAMES
        self._to_insist = frame_streams.to_insist(shape, dtype, streams)
        if shape is not None or isinstance(streams, dict):
            frame_streams.to_make(*self._given)  # raises an error for wrong arguments at once

    def publisher(self, sender: str = "") -> FramePublisher:
        """Return the topic's only publisher. Other shapes than before make a new pool, which subscribers follow."""
        if not isinstance(sender, str):
            raise TypeError(f"sender must be str, not {type(sender).__name__}")
        streams = frame_streams.to_make(*self._given)
        topic = self._bus._topic(self.topic)
        publisher, writer = self._store.writer(topic, sender, self._settings, streams)
        made = FramePublisher(publisher, writer)
        self._bus._handles.add(made)
        return made

    def subscriber(
        self, stream: str | None = None, conflate: bool = False, *, start: str = "new"
    ) -> FrameSubscriber:
        """Return a subscriber of one stream, or of all. It may be made before the topic exists.

        start: "new" (or "latest"), "last", or "oldest" (or "earliest")."""
        if stream is not None:
            if not isinstance(stream, str):
                raise TypeError(f"stream must be str, not {type(stream).__name__}")
            settings.check_text("stream", stream)
        place = settings.start_word(start)
        topic = self._bus._topic(self.topic)
        subscriber, reader = self._store.reader(topic, stream, place, bool(conflate), self._to_insist)
        made = FrameSubscriber(subscriber, reader, stream)
        self._bus._handles.add(made)
        return made

    def streams(self) -> list[dict[str, Any]]:
        """Return the streams that exist: stream, shape, dtype, buffers, held (of the buffers), frame_bytes."""
        return self._store.look(self._bus._topic(self.topic))

    def __repr__(self) -> str:
        return f"<Frames {self.topic!r} on {self._bus!r}>"


Frames.__module__ = "slipring"
