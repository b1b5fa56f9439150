# SPDX-License-Identifier: Apache-2.0
"""Offsets: how far a stream has come on each topic, as Spark keeps it in its checkpoint.

    {"slipring": 1, "topics": {"imu": {"generation": "00c0ffee00c0ffee", "next": 123, "origin": 100}}}

next is the sequence to be read next, origin where the stream began on this topic, generation the topic those
numbers belong to. Spark compares offsets as text, so there is one way to write each: keys sorted, numbers
whole. The form is normative (docs/spec/spark-source.md); a change of meaning needs another version.

A further number, "releases", grows when a batch is needed that reads nothing: Spark releases a batch when it logs the
next one, and publishers that wait for room bring no next one by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slipring.errors import SlipringError

VERSION = 1
MOST = 1 << 63


class BadOffsets(SlipringError, ValueError):
    """Offsets, in a checkpoint or an option, that are none of this version of Slipring."""


@dataclass(frozen=True)
class Position:
    generation: int
    next: int
    origin: int


Offsets = Mapping[str, Position]


def dump(offsets: Offsets, releases: int = 0) -> dict[str, Any]:
    """What Spark is given."""
    # defect spark_offsets_unsorted: topics = {
    #     topic: {"generation": f"{at.generation:016x}", "next": at.next, "origin": at.origin}
    #     for topic, at in offsets.items()}
    topics = {
        topic: {"generation": f"{at.generation:016x}", "next": at.next, "origin": at.origin}
        for topic, at in sorted(offsets.items())
    }
    return {"slipring": VERSION, "topics": topics, **({"releases": releases} if releases else {})}


def releases(raw: Any) -> int:
    """How many batches were made so far to release the one before; of offsets that `load` takes."""
    number = raw.get("releases", 0)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < MOST:
        raise BadOffsets(f"the checkpoint: {number!r} is no number of releases")
    return number


def load(raw: Any, where: str = "the checkpoint") -> dict[str, Position]:
    """What Spark gives back; where: for the error's text."""
    if not isinstance(raw, dict) or "slipring" not in raw:
        raise BadOffsets(f"{where} holds offsets of another source, not of slipring: {str(raw)[:200]}")
    if raw["slipring"] != VERSION:
        raise BadOffsets(
            f"{where} holds offsets of version {raw['slipring']!r}, this Slipring reads version {VERSION}: "
            f"use the Slipring that wrote it, or a fresh checkpointLocation"
        )
    topics = raw.get("topics")
    if not isinstance(topics, dict):
        raise BadOffsets(f'{where}: "topics" is missing or no object')
    return {topic: _position(topic, at, where) for topic, at in sorted(topics.items())}


def _position(topic: str, raw: Any, where: str) -> Position:
    try:
        generation, following, origin = raw["generation"], raw["next"], raw["origin"]
        position = Position(int(generation, 16), following, origin)
    except (TypeError, KeyError, ValueError):
        raise BadOffsets(f"{where}: {raw!r} is no position on topic {topic!r}") from None
    for number in (following, origin):
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < MOST:
            raise BadOffsets(f"{where}: {number!r} is no sequence of topic {topic!r}")
    if len(generation) != 16 or origin > following:
        raise BadOffsets(f"{where}: {raw!r} is no position on topic {topic!r}")
    return position


def beginning(start: Position | None, end: Position) -> int:
    """Where a batch that ends at `end` begins on its topic.

    Usually where the one before ended. But Spark asks a new stream twice where it begins, and the answer may
    have changed in between ("latest", or a ring that went on): then the logged end knows where it was. The
    same for topics that are new, or were replaced, between the two."""
    # defect spark_moved_origin_believed: if start is None or start.generation != end.generation:
    if start is None or start.generation != end.generation or start.origin != end.origin:
        return end.origin
    return start.next
