# SPDX-License-Identifier: Apache-2.0
"""Rows as bodies of a topic: the bytes of column `value`, or rows encoded by the topic's schema.

A row is one message, except with encoding arrow: there rows that follow each other and have the same type and sender
are one message, of at most MOST_ARROW bytes or a quarter of the topic's capacity, unless one row is larger.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import BinaryType, StringType, StructType

from slipring._bus.bus import Bus
from slipring._bus.schema import row_batches
from slipring._bus.schema.topic_schema import Schema
from slipring._bus.typed.error_place import name_topic
from slipring.errors import BadArgument, SlipringError, TopicNotFound

from . import field_columns

TEXTS: Final = ("topic", "type", "sender")
# Columns of the source that describe the received message; they are ignored.
IGNORED: Final = frozenset(
    ("offset", "timestamp", "timestamp_ns", "host", "generation", "span", "lost", "received_ns")
)
MOST_ARROW: Final = 1 << 20
_MOST_DATA: Final = (1 << 31) - 1  # bytes of an Arrow array


def schema_of(bus: Bus, topic: str) -> Schema | None:
    """Return the schema of a topic; None: it has none, or is missing."""
    try:
        return bus.schema(topic)
    except TopicNotFound:
        return None
    except SlipringError as error:
        name_topic(error, topic)
        raise


def has_typed_topic(bus: Bus) -> bool:
    for topic in bus.topics():
        with contextlib.suppress(SlipringError):  # removed meanwhile, or damaged
            if bus._stored(topic) is not None:
                return True
    return False


def fingerprint(schema: Schema | None) -> str | None:
    return None if schema is None else hashlib.sha256(schema.to_bytes()).hexdigest()


def fields_of(schema: Schema, names: list[str]) -> dict[str, str]:
    """Return the columns that hold fields, by the field's name. The case of names does not matter."""
    fields = {name.lower(): name for name, _ in schema.fields}
    return {
        fields.get(name.lower(), name): name
        for name in names
        if name.lower() in fields or name.lower() not in IGNORED | set(TEXTS)
    }


def check_fields(schema: Schema, topic: str, frame: StructType) -> None:
    """Check that the columns are the fields of the topic; BadArgument names a wrong one."""
    columns = fields_of(schema, frame.names)
    field_columns.check(schema, topic, {field: frame[name].dataType for field, name in columns.items()})


def check_value(frame: StructType) -> None:
    """Check the columns for a topic without a schema; BadArgument names a wrong one."""
    kinds = {field.name.lower(): field.dataType for field in frame.fields}
    if "value" not in kinds:
        found = ", ".join(frame.fieldNames())
        raise BadArgument(
            f"the sink needs a column 'value', binary or string; the columns are {found}", argument="value"
        )
    if not isinstance(kinds["value"], BinaryType | StringType):
        kind = kinds["value"].simpleString()
        hint = "cast it, or convert it with to_json(struct(...))"
        raise BadArgument(f"column 'value' is {kind}, not binary or string: {hint}", argument="value")
    for name in kinds:
        if name not in ("value", *TEXTS) and name not in IGNORED:
            hint = "drop it, or put it into 'value' with to_json(struct(...))"
            raise BadArgument(
                f"column {name!r} is not one of value, {', '.join(TEXTS)}: {hint}", argument=name
            )


class Bodies:
    """The bodies of rows for one topic. schema: None for bytes as they are; capacity: of the topic."""

    def __init__(self, topic: str, schema: Schema | None, capacity: int) -> None:
        self.topic, self.schema, self.capacity = topic, schema, capacity
        self._most = min(MOST_ARROW, capacity // 4)
        self._checked: pa.Schema | None = None

    def of(self, batch: pa.RecordBatch, texts: list[pa.Array]) -> tuple[pa.Array, list[int] | None]:
        """Return the bodies, and the first row of each; None: there is one for each row. texts: type and sender."""
        if self._checked != batch.schema:
            self._check(batch.schema)
        if self.schema is None:
            names = [name.lower() for name in batch.schema.names]
            return pc.cast(batch.column(names.index("value")), pa.binary()), None
        try:
            return self._encoded(self.schema, batch, texts)
        except SlipringError as error:
            name_topic(error, self.topic)
            raise

    def _check(self, columns: pa.Schema) -> None:
        frame = from_arrow_schema(columns)
        if self.schema is None:
            check_value(frame)
        else:
            check_fields(self.schema, self.topic, frame)
        self._checked = columns

    def _encoded(
        self, schema: Schema, batch: pa.RecordBatch, texts: list[pa.Array]
    ) -> tuple[pa.Array, list[int] | None]:
        columns = {field: batch.column(name) for field, name in fields_of(schema, batch.schema.names).items()}
        rows = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        if schema.encoding == "numpy":
            return _records(row_batches.rows_to_records(schema, rows), batch.num_rows), None
        if schema.encoding != "arrow":
            bodies = [bytes(body) for body in row_batches.rows_to_bodies(schema, rows)]
            return pa.array(bodies, pa.binary()), None
        parts = [part for first, end in alike(texts) for part in self._messages(schema, rows, first, end)]
        return pa.array([body for body, _ in parts], pa.binary()), [first for _, first in parts]

    def _messages(
        self, schema: Schema, rows: pa.RecordBatch, first: int, end: int
    ) -> Iterator[tuple[bytes, int]]:
        """Yield the messages of some rows, and the first row of each."""
        (body,) = row_batches.rows_to_bodies(schema, rows.slice(first, end - first))
        if len(body) <= self._most or end - first == 1:
            yield bytes(body), first
            return
        middle = (first + end) // 2
        yield from self._messages(schema, rows, first, middle)
        yield from self._messages(schema, rows, middle, end)


def _records(data: memoryview, count: int) -> pa.Array:
    """Return bodies of equal size, which lie one after the other, as an Arrow array without a copy."""
    if len(data) > _MOST_DATA:
        raise BadArgument(
            f"{count} rows have {len(data)} bytes, more than the {_MOST_DATA} of an Arrow array: lower "
            f"spark.sql.execution.arrow.maxRecordsPerBatch",
            argument="batch",
        )
    import numpy

    offsets = numpy.arange(count + 1, dtype="i4") * (len(data) // max(1, count))
    return pa.Array.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(offsets.astype("i4")), pa.py_buffer(data)]
    )


def alike(texts: list[Any]) -> Iterator[tuple[int, int]]:
    """Yield the begin and end of each run of rows with equal texts."""
    rows = len(texts[0])
    changes = [pc.not_equal(text.slice(1), text.slice(0, rows - 1)) for text in texts]
    changed = changes[0]
    for more in changes[1:]:
        changed = pc.or_(changed, more)
    ends = [row + 1 for row in pc.indices_nonzero(changed).to_pylist()]
    yield from zip([0, *ends], [*ends, rows], strict=True)
