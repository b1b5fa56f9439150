# SPDX-License-Identifier: Apache-2.0
"""Frames of a stepped bus: publishers and subscribers of announcements, and what goes with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from slipring._bus import settings
from slipring._bus.frames.streams import Stream
from slipring._bus.typed.subscriber_reading import Reading

from ..ring.reader import Options
from .reader import SteppedFrameReader
from .source import FrameSource
from .writer import SteppedFrameWriter

if TYPE_CHECKING:
    from slipring._bus.publisher import Publisher
    from slipring._bus.subscriber import Subscriber

    from ..ports.handle import Handle
    from ..ports.publisher import SteppedPublisher
    from ..simulation import Simulation

OpenPublisher = Callable[[str, str, dict[str, int]], "SteppedPublisher"]


class SteppedFrames:
    def __init__(
        self, simulation: Simulation, register: Callable[[Handle], None], open_publisher: OpenPublisher
    ) -> None:
        self._simulation, self._register, self._open_publisher = simulation, register, open_publisher

    def writer(
        self, topic: str, sender: str, given: dict[str, int], streams: tuple[Stream, ...]
    ) -> tuple[Publisher, SteppedFrameWriter]:
        publisher = self._open_publisher(topic, sender, given)
        try:
            return cast("Publisher", publisher), SteppedFrameWriter(publisher, streams)
        except BaseException:
            publisher.close()
            raise

    def reader(
        self, topic: str, stream: str | None, start: int, conflate: bool, insist: tuple[Stream, ...]
    ) -> tuple[Subscriber, SteppedFrameReader]:
        types = None if stream is None else (stream,)
        options = Options(settings.START_NEW, 0, -1, conflate, None, 0, types, (), (), None)
        source = FrameSource(self._simulation, topic, options, Reading())
        try:
            reader = SteppedFrameReader(source, stream, start, conflate, insist)
        except BaseException:
            source.close()
            raise
        self._register(source)
        return cast("Subscriber", source), reader

    def look(self, topic: str) -> list[dict[str, Any]]:
        found = self._simulation.topics.get(topic)
        return [] if found is None or found.pool is None else found.pool.facts()
