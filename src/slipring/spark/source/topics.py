# SPDX-License-Identifier: Apache-2.0
"""The topics a job reads, as one process has them open: which there are, how far they go, whether they are
the same."""

from __future__ import annotations

import re

from slipring._bus.bus import Bus
from slipring._bus.ranges import Ranges
from slipring.errors import TopicGone, TopicNotFound

from .. import executors
from ..errors import BadOption, TopicReplaced
from . import start_offsets as places
from .options import SourceOptions
from .start_offsets import Place


class Topics:
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._open: dict[str, Ranges] = {}
        self.bus: Bus = options.open()

    def names(self) -> list[str]:
        """The topics that the options name now; with a pattern, more may come."""
        if self._options.pattern is None:
            return list(self._options.topics)
        pattern = re.compile(self._options.pattern)
        return [name for name in self.bus.topics() if pattern.fullmatch(name)]

    def find(self, topic: str) -> Ranges | None:
        """The topic of that name that is there now; None: there is none."""
        try:
            if topic in self._open:
                try:
                    self._open[topic].oldest()  # tells whether the file is still the bus's
                    return self._open[topic]
                except TopicGone:
                    self._open.pop(topic).close()
            self._open[topic] = Ranges(self.bus, topic)
        except TopicNotFound:
            return None
        return self._open[topic]

    def get(self, topic: str) -> Ranges:
        """The same for a topic that has to be there."""
        found = self.find(topic)
        if found is None:
            option = "subscribe" if self._options.pattern is None else "subscribePattern"
            there = ", ".join(self.bus.topics()) or "none"
            raise BadOption(
                option,
                f"there is no topic {topic!r} on bus {self.bus.name!r} at {self.bus.root} (there: "
                f"{there}): start its publisher first, or correct the option, or options bus and root",
            )
        return found

    def same(self, topic: str, generation: int) -> Ranges | None:
        """The topic, if it is of that generation. If not, an error, or None where loss is allowed."""
        found = self.find(topic)
        # defect spark_replaced_topic_read: if found is not None:
        if found is not None and found.generation == generation:
            return found
        if self._options.fail_on_loss:
            raise TopicReplaced(topic, generation, None if found is None else found.generation)
        return None

    def sequence(self, topic: str, place: Place) -> int:
        """Where on a topic a place is."""
        ranges = self.get(topic)
        at = place.of(topic)
        end = ranges.committed(ranges.oldest())
        if place.time_ns is not None:
            return min(ranges.at_time(place.time_ns), end)
        if isinstance(at, str):
            return ranges.oldest() if at == places.EARLIEST else end
        generation = place.generations.get(topic, ranges.generation)
        if generation != ranges.generation:
            raise BadOption(
                place.option,
                f"it is about generation {generation:016x} of topic {topic!r}, which was replaced by "
                f"generation {ranges.generation:016x}",
            )
        if at > end:
            raise BadOption(place.option, f"{at} of topic {topic!r} is not published yet: the next is {end}")
        return at

    def close(self) -> None:
        for ranges in self._open.values():
            ranges.close()
        self._open.clear()
        self.bus.close()


def check(options: SourceOptions) -> None:
    """Are the topics there that options name, and do the executors that run already see them?"""
    topics = Topics(options)
    try:
        for topic in options.topics:
            topics.get(topic)
        executors.check(topics.bus.path)
    finally:
        topics.close()
