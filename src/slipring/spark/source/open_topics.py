# SPDX-License-Identifier: Apache-2.0
"""The topics of a job, kept open by one process: their names, how far they go, and their generations."""

from __future__ import annotations

import re

from slipring._bus.bus import Bus
from slipring._bus.ranges import RangeReader
from slipring.errors import SlipringError, TopicGone, TopicNotFound

from .. import executors
from ..errors import BadOption, TopicReplaced
from . import shared_schema, start_offsets
from .options import SourceOptions
from .start_offsets import OffsetBound


class OpenTopics:
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._open: dict[str, RangeReader] = {}
        self.bus: Bus = options.open()

    def names(self) -> list[str]:
        """Return the topics that the options name; with a pattern, more may come later."""
        if self._options.pattern is None:
            return list(self._options.topics)
        pattern = re.compile(self._options.pattern)
        return [name for name in self.bus.topics() if pattern.fullmatch(name)]

    def find(self, topic: str) -> RangeReader | None:
        """Return the reader of the present topic of that name; None: there is none."""
        try:
            if topic in self._open:
                try:
                    self._open[topic].oldest()  # raises TopicGone if the file was removed
                    return self._open[topic]
                except TopicGone:
                    self._open.pop(topic).close()
            reader = RangeReader(self.bus, topic)
        except TopicNotFound:
            return None
        try:
            # defect spark_other_schema_read: pass
            shared_schema.check(self._options, topic, reader.schema)
        except SlipringError:
            reader.close()
            raise
        self._open[topic] = reader
        return reader

    def get(self, topic: str) -> RangeReader:
        """Return the reader of the present topic of that name; raise BadOption if there is none."""
        found = self.find(topic)
        if found is None:
            option = "subscribe" if self._options.pattern is None else "subscribePattern"
            there = ", ".join(self.bus.topics()) or "none"
            raise BadOption(
                option,
                f"there is no topic {topic!r} on bus {self.bus.name!r} at {self.bus.root} (topics: {there}): "
                f"start its publisher first, or correct this option, or options bus and root",
            )
        return found

    def of_generation(self, topic: str, generation: int) -> RangeReader | None:
        """Return the topic's reader if the topic has that generation.

        Otherwise raise TopicReplaced, or return None if loss is allowed."""
        found = self.find(topic)
        # defect spark_replaced_topic_read: if found is not None:
        if found is not None and found.generation == generation:
            return found
        if self._options.fail_on_loss:
            raise TopicReplaced(topic, generation, None if found is None else found.generation)
        return None

    def sequence(self, topic: str, bound: OffsetBound) -> int:
        """Return the sequence of a topic at a bound."""
        reader = self.get(topic)
        at = bound.of(topic)
        end = reader.settled_end(reader.oldest())
        if bound.time_ns is not None:
            return min(reader.at_time(bound.time_ns), end)
        if isinstance(at, str):
            return reader.oldest() if at == start_offsets.EARLIEST else end
        generation = bound.generations.get(topic, reader.generation)
        if generation != reader.generation:
            raise BadOption(
                bound.option,
                f"it is about generation {generation:016x} of topic {topic!r}, but the present topic has "
                f"generation {reader.generation:016x}",
            )
        if at > end:
            raise BadOption(bound.option, f"{at} of topic {topic!r} is not published yet: the next is {end}")
        return at

    def close(self) -> None:
        for reader in self._open.values():
            reader.close()
        self._open.clear()
        self.bus.close()


def schemas(options: SourceOptions) -> list[tuple[str, bytes | None]]:
    """Return the present topics that the options name, each with the bytes of its schema."""
    topics = OpenTopics(options)
    try:
        found = {topic: topics.find(topic) for topic in topics.names()}
        return [(topic, reader.schema) for topic, reader in found.items() if reader is not None]
    finally:
        topics.close()


def check(options: SourceOptions) -> None:
    """Check that the named topics exist, and that the executors that already run see them."""
    topics = OpenTopics(options)
    try:
        for topic in options.topics:
            topics.get(topic)
        executors.check(topics.bus.path)
    finally:
        topics.close()
