# SPDX-License-Identifier: Apache-2.0
"""Offsets: the position of a stream on each topic, as Spark stores it in the checkpoint.

    {"slipring": 1, "topics": {"imu": {"generation": "00c0ffee00c0ffee", "next": 123, "origin": 100}}}

next is the next sequence to read, origin the first sequence that the stream read of this topic, and generation
identifies the topic to which these numbers belong. Spark compares offsets as text, so that each has exactly one
spelling: sorted keys and whole numbers. The format is normative (docs/spec/spark-source.md); a change of meaning needs
another version.

A further number, "releases", grows when a batch is needed that reads nothing: Spark releases a batch when it logs the
next one, and publishers that wait for room send nothing that would make the next one.

A further text, "schema", is the fingerprint of the topics' schema, if its fields are columns: a restarted query must
have the same columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from slipring.errors import SlipringError

VERSION = 1
MOST = 1 << 63


class BadOffsets(SlipringError, ValueError):
    """Offsets, in a checkpoint or an option, are not valid for this version of Slipring."""


@dataclass(frozen=True)
class Position:
    """How far a stream has come on one generation of a topic."""

    generation: int
    next: int
    begun_at: int  # in JSON: "origin"


Offsets = Mapping[str, Position]
_Count = Annotated[int, msgspec.Meta(ge=0, le=MOST - 1)]


class _StoredPosition(msgspec.Struct):
    """A position as JSON has it."""

    generation: Annotated[str, msgspec.Meta(pattern="^[0-9a-fA-F]{16}$")]
    next: _Count
    origin: _Count


def dump(offsets: Offsets, releases: int = 0, schema: str | None = None) -> dict[str, Any]:
    """Return offsets as Spark stores them."""
    # defect spark_offsets_unsorted: topics = {
    #     topic: {"generation": f"{at.generation:016x}", "next": at.next, "origin": at.begun_at}
    #     for topic, at in offsets.items()}
    topics = {
        topic: {"generation": f"{at.generation:016x}", "next": at.next, "origin": at.begun_at}
        for topic, at in sorted(offsets.items())
    }
    further = {"releases": releases or None, "schema": schema}
    given = {name: value for name, value in further.items() if value is not None}
    return {"slipring": VERSION, "topics": topics, **given}


def check_schema(raw: Any, schema: str | None) -> None:
    """Refuse offsets of a query with other fields; raw: offsets that `load` accepts."""
    found = raw.get("schema")
    if raw["topics"] and found != schema:
        was, now = (
            "bytes in column value" if text is None else f"columns of schema {text}"
            for text in (found, schema)
        )
        raise BadOffsets(
            f"the checkpoint was written by a query with {was}, and its topics now give {now}: the schema of topics "
            f"{', '.join(raw['topics'])} has changed. Use a new checkpointLocation, or the option valueFormat that the "
            f"query had"
        )


def releases(raw: Any) -> int:
    """Return the number of batches made so far only to release the one before; raw: offsets that `load` accepts."""
    try:
        return msgspec.convert(raw.get("releases", 0), _Count)
    except msgspec.ValidationError as error:
        raise BadOffsets(f'the checkpoint: "releases" is not valid: {error}') from None


def load(raw: Any, where: str = "the checkpoint") -> dict[str, Position]:
    """Return the offsets that Spark stored; where: what has them, for errors."""
    if not isinstance(raw, dict) or "slipring" not in raw:
        raise BadOffsets(f"{where} has offsets of another source, not of slipring: {str(raw)[:200]}")
    if raw["slipring"] != VERSION:
        raise BadOffsets(
            f"{where} has offsets of version {raw['slipring']!r}, but this Slipring reads version {VERSION}: "
            f"use the Slipring that wrote them, or a new checkpointLocation"
        )
    topics = raw.get("topics")
    if not isinstance(topics, dict):
        raise BadOffsets(f'{where}: "topics" is missing or not an object')
    return {topic: _position(topic, at, where) for topic, at in sorted(topics.items())}


def _position(topic: str, raw: Any, where: str) -> Position:
    try:
        stored = msgspec.convert(raw, _StoredPosition)
    except msgspec.ValidationError as error:
        raise BadOffsets(f"{where}: the position on topic {topic!r} is not valid: {error}") from None
    if stored.origin > stored.next:
        raise BadOffsets(f"{where}: on topic {topic!r} origin={stored.origin} is after next={stored.next}")
    return Position(int(stored.generation, 16), stored.next, stored.origin)


def beginning(start: Position | None, end: Position) -> int:
    """Return the sequence at which a batch that ends at `end` begins on its topic.

    Usually that is the end of the batch before. But Spark asks a new stream twice where it begins, and the answer may
    change in between ("latest", or a ring that moved on). Then `begun_at` of the logged end is right. The same holds
    for topics that are new or were replaced between the two."""
    # defect spark_moved_origin_believed: if start is None or start.generation != end.generation:
    if start is None or start.generation != end.generation or start.begun_at != end.begun_at:
        return end.begun_at
    return start.next
