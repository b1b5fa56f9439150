# SPDX-License-Identifier: Apache-2.0
"""What the topics of a recording have now, read from the topics themselves.

Spark knows only what it has planned. While it plans a batch, or repeats one after a restart, it looks idle and is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import slipring
from slipring._bus.ranges import RangeReader
from slipring.errors import TopicGone, TopicNotFound


def is_there(bus: slipring.Bus, topic: str, generation: str) -> bool:
    """Whether the topic is on the bus and still has that generation."""
    try:
        with RangeReader(bus, topic) as reader:
            return f"{reader.generation:016x}" == generation
    except (TopicNotFound, TopicGone):
        return False


def is_behind(positions: dict[str, dict[str, Any]], bus: slipring.Bus, topics: Iterable[str]) -> bool:
    """Whether one of these topics has more than a query at these positions has read."""
    return any(_has_more(positions.get(topic), bus, topic) for topic in topics)


def _has_more(position: dict[str, Any] | None, bus: slipring.Bus, topic: str) -> bool:
    try:
        with RangeReader(bus, topic) as reader:
            if position is None or int(position["generation"], 16) != reader.generation:
                return reader.settled_end(0, rows=1) > 0  # the query will begin with what is there
            following: int = position["next"]
            return reader.settled_end(following, rows=1) > following
    except (TopicNotFound, TopicGone):
        return False
