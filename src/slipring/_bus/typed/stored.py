# SPDX-License-Identifier: Apache-2.0
"""The schema of a topic: given when the topic is made, and compared when it is opened."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from slipring.errors import BadArgument, SchemaMismatch, SlipringError, TopicNotFound

from ..schema.compatibility import check_same
from ..schema.declare import declare
from ..schema.topic_schema import Schema
from .error_place import name_topic

Opened = TypeVar("Opened")
MOST_ATTEMPTS = 100  # to open a topic that other processes replace again and again


@lru_cache(maxsize=128)
def schema_of(data: bytes) -> Schema:
    """Return the schema with these bytes; Corrupt if they are not one."""
    return Schema.from_bytes(data)


def schema_of_topic(topic: str, data: bytes) -> Schema:
    """Return the schema with these bytes; Corrupt names the topic."""
    try:
        return schema_of(data)
    except SlipringError as error:
        name_topic(error, topic)
        raise


def declared(schema: Any, encoding: str | None) -> Schema | None:
    """Return the schema that a program declares, or None when it declares none."""
    if schema is not None:
        return declare(schema, encoding)
    if encoding is not None:
        raise BadArgument(f"encoding={encoding!r} belongs to a schema: give schema= too", argument="encoding")
    return None


def open_with(
    asked: Schema,
    topic: str,
    settings: dict[str, Any],
    stored: Callable[[], bytes | None],
    opened: Callable[[dict[str, Any]], Opened],
) -> Opened:
    """Open a topic with the schema asked for: create it, or compare its schema with this one.

    stored: returns the bytes of the topic's schema. opened: opens or creates the topic with these settings; it raises
    SchemaMismatch when the bytes differ. Schemas whose bytes differ may still go together, as their names may differ.
    """
    bytes_given, replaced = asked.to_bytes(), None
    for _ in range(MOST_ATTEMPTS):
        try:
            return opened({**settings, "schema": bytes_given})
        except SchemaMismatch as error:
            replaced = error
        try:
            data = stored()
        except TopicNotFound:  # it was removed meanwhile
            bytes_given = asked.to_bytes()
            continue
        try:
            if data is None:
                raise no_schema(asked)
            # defect schema_of_topic_not_compared: pass
            check_same(schema_of(data), asked)
        except SlipringError as error:
            name_topic(error, topic)
            raise
        bytes_given = data
    assert replaced is not None
    raise replaced


def of_cells(facts: dict[str, Any]) -> Schema | None:
    """Return the schema of an element of cells with these statistics; None for plain bytes."""
    from ..cells.elements import BytesElements, from_format

    elements = from_format(facts["format"], facts["size"])
    if isinstance(elements, BytesElements):
        return None
    return declare(_with_shape(elements.dtype, elements.shape), name="Element")


def of_frames(topic: str, streams: list[dict[str, Any]], stream: str | None) -> Schema | None:
    """Return the schema of a frame; None before the first publisher. streams: as in the statistics."""
    from ..cells import dtypes

    named = {each["stream"]: each for each in streams}
    if not named:
        return None
    if stream is None and len(named) > 1:
        text = f"topic {topic!r} has the streams {', '.join(named)}: give stream= one of them"
        raise BadArgument(text, argument="stream")
    found = named.get(next(iter(named)) if stream is None else stream)
    if found is None:
        text = f"topic {topic!r} has no stream {stream!r}; its streams are {', '.join(named)}"
        raise TopicNotFound(text, argument="stream")
    size = found["frame_bytes"] // math.prod(found["shape"])
    dtype = dtypes.from_text(found["dtype"], size, "the schema of frames")
    return declare(_with_shape(dtype, found["shape"]), name="Frame")


def _with_shape(dtype: Any, shape: Any) -> Any:
    import numpy

    return numpy.dtype((dtype, tuple(shape))) if shape else dtype


def no_schema(asked: Schema) -> SchemaMismatch:
    """Return the error for a schema asked of a topic that has none."""
    shown = f"schema {asked.name} ({asked.encoding})"
    return SchemaMismatch(
        f"the topic has no schema, asked for {shown}: omit schema= to use it as it is, or remove the topic first",
        found="no schema",
        asked=shown,
    )
