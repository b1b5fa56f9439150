# SPDX-License-Identifier: Apache-2.0
"""Frames: what `Bus.frames` gives; makes publishers and subscribers of large arrays."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, SupportsIndex

from slipring.errors import BadArgument

from . import dtypes, frame_streams, settings
from .frame_publisher import FramePublisher
from .frame_subscriber import FrameSubscriber
from .native import _native
from .publisher import Publisher
from .subscriber import Subscriber

if TYPE_CHECKING:
    from .bus import Bus

# Room for the announcements of many frames: of a fast stream, while a slow one's reader has time.
_ANNOUNCEMENTS: dict[str, Any] = {"capacity": "1MiB", "slots": 4096, "delivery": "lossy", "writers": "one"}
_FRAMES = {"content": 1}


class Frames:
    """A frames topic. Made by `Bus.frames`; opens nothing by itself.

    >>> frames = bus.frames("cam", shape=(720, 1280, 3), dtype="u1", buffers=4)
    >>> with frames.publisher() as pub, pub.frame() as array: array[:] = image
    >>> with frames.subscriber().recv() as frame: show(frame.array)
    """

    def __init__(
        self,
        bus: Bus,
        topic: str,
        make_directory: Callable[[], None],
        shape: Any,
        dtype: Any,
        buffers: SupportsIndex | None,
        streams: Any,
        topic_settings: dict[str, Any],
    ) -> None:
        if not os.path.isabs(bus.path):
            raise BadArgument(f"frames are shared memory, which {bus!r} has none of", argument="bus")
        dtypes.numpy(frame_streams.NEEDS)
        self.topic = topic
        self._bus = bus
        self._make_directory = make_directory
        self._given = (shape, dtype, buffers, streams)
        self._settings = settings.topic_settings(**{**_ANNOUNCEMENTS, **topic_settings}) | _FRAMES
        self._to_insist = frame_streams.to_insist(shape, dtype, streams)
        if shape is not None or isinstance(streams, dict):
            frame_streams.to_make(*self._given)  # what is wrong is told at once

    def publisher(self, sender: str = "") -> FramePublisher:
        """The topic's only publisher. Other shapes than before: another pool, which subscribers follow."""
        if not isinstance(sender, str):
            raise TypeError(f"sender must be str, not {type(sender).__name__}")
        streams = frame_streams.to_make(*self._given)
        self._bus._topic(self.topic)
        self._make_directory()
        publisher = Publisher(self._bus.path, self.topic, sender, self._settings)
        try:
            writer = _native.FrameWriter(publisher, self._bus.path, self.topic, streams)
        except BaseException:
            publisher.close()
            raise
        made = FramePublisher(publisher, writer)
        self._bus._handles.add(made)
        return made

    def subscriber(
        self, stream: str | None = None, conflate: bool = False, *, start: str = "new"
    ) -> FrameSubscriber:
        """Frames of one stream, or of all. May come before the topic. start: "new", "last" or "oldest"."""
        if stream is not None:
            if not isinstance(stream, str):
                raise TypeError(f"stream must be str, not {type(stream).__name__}")
            self._bus._check_text("stream", stream)
        place = settings.choice("start", start, ("new", "last", "oldest"))
        arguments = (settings.START_NEW, 0, -1, False, None, 0, None, (), (), None)
        subscriber = Subscriber(self._bus.path, self._bus._topic(self.topic), arguments)
        try:
            reader = _native.FrameReader(subscriber, stream, place, bool(conflate), self._to_insist)
        except BaseException:
            subscriber.close()
            raise
        made = FrameSubscriber(subscriber, reader, stream)
        self._bus._handles.add(made)
        return made

    def streams(self) -> list[dict[str, Any]]:
        """The streams that exist: stream, shape, dtype, buffers, how many of them are held, frame_bytes."""
        return frame_streams.look(self._bus.path, self._bus._topic(self.topic))

    def __repr__(self) -> str:
        return f"<Frames {self.topic!r} on {self._bus!r}>"


Frames.__module__ = "slipring"
