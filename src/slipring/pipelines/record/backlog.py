# SPDX-License-Identifier: Apache-2.0
"""Is there something left to be taken? Asked of the topics themselves, not of Spark, which knows only what it has
planned: while it plans, or repeats a batch after a restart, it looks idle and is not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import slipring
from slipring._bus.ranges import Ranges
from slipring.errors import TopicGone, TopicNotFound


def reached(query: Any) -> dict[str, dict[str, Any]] | None:
    """How far a query has come on each topic, as its last finished batch tells; None: it has not told yet."""
    progress = query.lastProgress
    if progress is None or not progress.sources or not progress.sources[0].endOffset:
        return None
    topics: dict[str, dict[str, Any]] = json.loads(progress.sources[0].endOffset)["topics"]
    return topics


def is_behind(positions: dict[str, dict[str, Any]], bus: slipring.Bus, topics: Iterable[str]) -> bool:
    """Whether one of these topics has more than the query has taken."""
    return any(_has_more(positions.get(topic), bus, topic) for topic in topics)


def _has_more(position: dict[str, Any] | None, bus: slipring.Bus, topic: str) -> bool:
    try:
        with Ranges(bus, topic) as ranges:
            if position is None or int(position["generation"], 16) != ranges.generation:
                return ranges.committed(0, rows=1) > 0  # the query will begin with what is there
            following: int = position["next"]
            return ranges.committed(following, rows=1) > following
    except (TopicNotFound, TopicGone):
        return False
