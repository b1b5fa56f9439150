# SPDX-License-Identifier: Apache-2.0
"""Rows of a lake to rows with a column for each field, in tasks of Spark. Holes have no row.

A body that does not fit its schema is treated by `mode`: FAILFAST ends the query with an error that names topic,
sequence and field, PERMISSIVE gives it NULL fields, DROPMALFORMED leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T

from slipring._bus.schema import field_types as kinds
from slipring._bus.schema.topic_schema import Schema
from slipring._bus.typed.error_place import locate
from slipring.errors import Corrupt

from . import spark_columns
from .body_decoders import by_generation, decoder
from .selection import Key, Selection

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

MODES = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
HEAD = T.StructType(
    [
        T.StructField("topic", T.StringType()),
        T.StructField("generation", T.LongType()),
        T.StructField("offset", T.LongType()),
        T.StructField("timestamp", T.TimestampType()),
        T.StructField("timestamp_ns", T.LongType()),
        T.StructField("sender", T.StringType()),
        T.StructField("type", T.StringType()),
    ]
)


def frame_of(schema: Schema | None) -> T.StructType:
    """Return the columns of decoded rows."""
    fields = [] if schema is None else spark_columns.columns_of(schema).fields
    return T.StructType([*HEAD.fields, *fields])


def decoded(rows: DataFrame, selection: Selection, mode: str) -> DataFrame:
    """Return the messages of a lake's rows with fields in place of `value`. mode: one of MODES."""
    for topic, schema in {topic: schema for (topic, _), schema in selection.each.items()}.items():
        try:
            decoder(schema)  # here its packages and library can be named, and no job has begun
        except Corrupt as error:
            locate(error, topic, None)
            raise
    messages = rows.where("timestamp_ns IS NOT NULL").select(*HEAD.names, "value")
    return messages.mapInArrow(partial(_decode, selection, mode), frame_of(selection.schema))


def _decode(selection: Selection, mode: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    frame = spark_columns.arrow_of(frame_of(selection.schema))
    for batch in batches:
        for key, part in by_generation(batch):
            yield _decoded_part(selection, mode, frame, key, part)


def _decoded_part(
    selection: Selection, mode: str, frame: pa.Schema, key: Key, part: pa.RecordBatch
) -> pa.RecordBatch:
    """Return the rows of one topic and generation."""
    import pyarrow as pa

    schema = selection.each[key]
    found = decoder(schema).decode(part["value"])
    if found.bad and mode == "FAILFAST":
        at = min(found.bad)
        locate(found.bad[at], key[0], part["offset"][at].as_py())
        raise found.bad[at]
    head = [part[name] for name in HEAD.names]
    fields = [
        spark_columns.fitted(_column(found.batch, schema, selection.schema, name), frame.field(name).type)
        for name, _ in selection.schema.fields
    ]
    if found.rows is not None:
        of_body, of_row = _indices(found.rows, found.bad if mode == "PERMISSIVE" else {})
        head = [column.take(of_body) for column in head]
        fields = [column.take(of_row) for column in fields]
    columns = [
        column if column.type == kind else column.cast(kind)
        for column, kind in zip([*head, *fields], frame.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=frame)


def _indices(rows: list[int], bad: dict[int, Any]) -> tuple[pa.Array, pa.Array]:
    """Return the body and the decoded row (NULL: none) of each row of the result."""
    import pyarrow as pa

    pairs: list[tuple[int, int | None]] = [(body, at) for at, body in enumerate(rows)]
    pairs = sorted([*pairs, *((body, None) for body in bad)], key=lambda pair: pair[0])
    of_body, of_row = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return pa.array(of_body, pa.int64()), pa.array(of_row, pa.int64())


def _column(batch: pa.RecordBatch, found: Schema, own: Schema, name: str) -> pa.Array:
    """Return a column of the schema that is read: decoded, or the default of a field that the generation lacks."""
    if name in batch.schema.names:
        return batch[name]
    return _default(own, name).take(_zeros(batch.num_rows))


def _zeros(count: int) -> pa.Array:
    import numpy
    import pyarrow as pa

    return pa.array(numpy.zeros(count, "i8"))


@lru_cache(maxsize=256)
def _default(schema: Schema, name: str) -> pa.Array:
    """Return the default of a field as a column of one row."""
    from slipring._bus.schema.encodings import arrow_types

    one = kinds.Struct((kinds.Field(name, dict(schema.fields)[name]),))
    batch = arrow_types.from_rows(Schema("Default", "msgpack", one), [{name: schema.defaults[name]}])
    return batch.column(0)
