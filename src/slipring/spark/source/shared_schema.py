# SPDX-License-Identifier: Apache-2.0
"""The one schema of all topics of a query (valueFormat auto), found when the DataFrame is made.

From then on every topic that the query opens must have this schema: `check`. A topic without a schema is refused where
the others have one, and the other way round. docs/spec/schema.md section 6 defines which schemas are the same.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable

from slipring._bus.ranges import COLUMNS
from slipring._bus.schema.compatibility import check_same
from slipring._bus.schema.field_types import OWN_COLUMNS
from slipring._bus.schema.topic_schema import Schema
from slipring._bus.typed import stored
from slipring._bus.typed.error_place import name_topic
from slipring.errors import SchemaMismatch, SlipringError

from ..decode import decoder
from ..decode.schema_values import SchemaValues
from ..decode.value_options import ValueOptions
from ..errors import BadOption
from .options import SourceOptions
from .parsing import DEFAULT_COLUMNS

APART = "subscribe to them separately, or set option valueFormat=raw for their bytes"
AGAIN = "make the query again with a new checkpointLocation, or set option valueFormat=raw for the bytes"
_NO_FIELD = frozenset(OWN_COLUMNS) - {"value"}  # columns that no schema has
Found = tuple[str, bytes | None]  # a topic, and the bytes of its schema


def resolve(options: SourceOptions, topics: Iterable[Found]) -> SourceOptions:
    """Return the options with the columns of the topics' schema. topics: those that exist now."""
    if isinstance(options.values, ValueOptions):
        _check_format(options.values.format, topics)
    if not options.auto or _NO_FIELD.issuperset(options.columns):
        return options
    shared = _shared(list(topics))
    if shared is not None:
        return _of_fields(options, *shared)
    for name in options.columns:
        if name not in COLUMNS:
            raise BadOption("columns", f"there is no column {name}: the columns are {', '.join(COLUMNS)}")
    if "mode" in options.given:
        why = "it requires option valueFormat: the topics have no schema, and nothing is decoded"
        raise BadOption("mode", why)
    return dataclasses.replace(options, one_schema=True)


def _of_fields(options: SourceOptions, topic: str, data: bytes) -> SourceOptions:
    """Return the options for topics with this schema. A field goes before a column of the message with its name."""
    fields = tuple(name for name, _ in _schema(topic, data).fields)
    taken = {name.lower() for name in fields}
    columns = tuple(name for name in DEFAULT_COLUMNS if name not in taken | {"value"})
    names = fields
    if "columns" in options.given:
        names = tuple(name for name in options.columns if name in fields)
        columns = tuple(name for name in options.columns if name not in fields)
        for name in columns:
            if name not in COLUMNS or name in taken:
                known = ", ".join([*fields, *(column for column in COLUMNS if column not in taken)])
                raise BadOption("columns", f"there is no column {name}: the columns are {known}")
    values = SchemaValues(data, topic, names, options.mode) if names else None
    return dataclasses.replace(options, columns=columns, values=values, one_schema=bool(names))


def _schema(topic: str, data: bytes) -> Schema:
    """Return the schema of a topic; Corrupt names the topic."""
    try:
        return stored.schema_of(data)
    except SlipringError as error:
        name_topic(error, topic)
        raise


def _shared(topics: list[Found]) -> tuple[str, bytes] | None:
    """Return a topic and the schema of all; None: none of them has one. SchemaMismatch: they differ."""
    typed = [(topic, data) for topic, data in topics if data is not None]
    if not typed:
        return None
    for topic, data in topics:
        _check_same(*typed[0], topic, data)
    return typed[0]


def _check_same(topic: str, data: bytes, other: str, found: bytes | None) -> None:
    """Raise SchemaMismatch if another topic, or the present topic of that name, has another schema."""
    if found == data:
        return
    if found is None:
        again = f"topic {topic!r} was created again without a schema"
        both = f"topic {topic!r} has a schema and topic {other!r} has none"
        raise _different(topic, other, again, both, "no schema", "a schema")
    try:
        check_same(_schema(topic, data), _schema(other, found))
    except SchemaMismatch as error:
        field, one, two = f"field {error.field}: " * bool(error.field), error.found, error.asked
        again = f"topic {topic!r} was created again with another schema: {field}{one} before, {two} now"
        both = f"topics {topic!r} and {other!r} have different schemas: {field}{one} in {topic!r}, {two} in {other!r}"
        raise _different(topic, other, again, both, two, one, error.field) from None


def _different(
    topic: str, other: str, again: str, both: str, found: str, asked: str, field: str = ""
) -> SchemaMismatch:
    text = f"{again}: {AGAIN}" if topic == other else f"{both}: {APART}"
    return SchemaMismatch(text, argument="valueFormat", found=found, asked=asked, field=field)


def _check_format(name: str, topics: Iterable[Found]) -> None:
    """Refuse a format that messages of a typed topic do not have."""
    for topic, data in topics:
        if data is None or name not in decoder.FORMATS:
            continue
        encoding = _schema(topic, data).encoding
        if name != encoding or name == "arrow":
            raise BadOption(
                "valueFormat",
                f"{name} contradicts the schema of topic {topic!r}, whose messages are of encoding {encoding}: omit "
                f"the option to have its fields as columns, or set it to raw for their bytes",
            )


def check(options: SourceOptions, topic: str, data: bytes | None) -> None:
    """Refuse a topic with another schema than the query's: it is new, or was created again since the query was made."""
    if not options.one_schema:
        return
    values = options.values
    if isinstance(values, SchemaValues):
        _check_same(values.topic, values.data, topic, data)
    elif data is not None:
        found = f"schema {_schema(topic, data).name}"
        text = f"topic {topic!r} has a schema, and no topic had one when the query was made: {AGAIN}"
        raise SchemaMismatch(text, argument="valueFormat", found=found, asked="no schema")


def fingerprint(options: SourceOptions) -> str | None:
    """Return a text that differs when the fields or their types in Spark do; None: the query has no such columns."""
    if not isinstance(options.values, SchemaValues):
        return None
    return hashlib.sha256(options.values.schema.ddl.encode()).hexdigest()[:16]
