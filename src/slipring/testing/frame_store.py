# SPDX-License-Identifier: Apache-2.0
"""Frames of a stepped bus: publishers and subscribers of announcements, and what goes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from slipring._bus import settings
from slipring._bus.frames.streams import Stream

from .frame_reader import SteppedFrameReader
from .frame_source import FrameSource
from .frame_writer import SteppedFrameWriter
from .reader import Wish

if TYPE_CHECKING:
    from slipring._bus.publisher import Publisher
    from slipring._bus.subscriber import Subscriber

    from .bus import SteppedBus


class SteppedFrames:
    def __init__(self, bus: SteppedBus) -> None:
        self._bus = bus

    def writer(
        self, topic: str, sender: str, given: dict[str, int], streams: tuple[Stream, ...]
    ) -> tuple[Publisher, SteppedFrameWriter]:
        publisher: Any = self._bus._publisher(topic, sender, given)
        try:
            return publisher, SteppedFrameWriter(publisher, streams)
        except BaseException:
            publisher.close()
            raise

    def reader(
        self, topic: str, stream: str | None, start: int, conflate: bool, insist: tuple[Stream, ...]
    ) -> tuple[Subscriber, SteppedFrameReader]:
        types = None if stream is None else (stream,)
        wish = Wish(settings.START_NEW, 0, -1, conflate, None, 0, types, (), (), None)
        source = FrameSource(self._bus._world, topic, wish)
        try:
            reader = SteppedFrameReader(source, stream, start, conflate, insist)
        except BaseException:
            source.close()
            raise
        self._bus._made.add(source)
        return cast("Subscriber", source), reader

    def look(self, topic: str) -> list[dict[str, Any]]:
        found = self._bus._world.topics.get(topic)
        return [] if found is None or found.pool is None else found.pool.facts()
