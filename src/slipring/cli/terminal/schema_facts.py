# SPDX-License-Identifier: Apache-2.0
"""The schema of a topic as verbs show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import slipring

if TYPE_CHECKING:
    from slipring._bus.schema.topic_schema import Schema

DAMAGED = "(damaged)"


def schema_of(bus: slipring.Bus, topic: str) -> Schema | None:
    """Return the schema of a topic; None without one, and if the topic was removed meanwhile."""
    try:
        return bus.schema(topic)
    except (slipring.TopicNotFound, slipring.TopicGone):
        return None


def schema_name(bus: slipring.Bus, topic: str) -> str | None:
    """Return the name of a schema for a list of topics, in which an error of one topic must not hide the others."""
    try:
        schema = schema_of(bus, topic)
    except slipring.SlipringError:
        return DAMAGED
    return None if schema is None else schema.name


def facts_of(schema: Schema) -> dict[str, Any]:
    """Return name, encoding, hash and fields for JSON."""
    from slipring._bus.schema.json_values import to_json

    fields = []
    for name, kind in schema.fields:
        field = {"name": name, "type": str(kind)}
        if name in schema.defaults:
            field["default"] = to_json(kind, schema.defaults[name])
        fields.append(field)
    return {"name": schema.name, "encoding": schema.encoding, "hash": schema.hash, "fields": fields}
