# SPDX-License-Identifier: Apache-2.0
"""Numeric fields of typed topics: minimum, maximum, quantiles, NaN and NULL.

Bodies are decoded in tasks of Spark. A field is integer, float or decimal. `acc[0]` is an item of a fixed array with at
most MOST_ITEMS items; items of longer arrays, lists and dicts are one field together, `path[]`. A generation with
another schema adds to the fields with the same path. At most MOST_FIELDS fields of a topic are computed, and
MOST_IN_ALL of a recording; the others are named. Values are compared as 64-bit floats.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from slipring._bus.schema import field_types as kinds
from slipring.errors import SlipringError
from slipring.pipelines.lake.topics.body_decoders import by_generation, decoder
from slipring.pipelines.lake.topics.selection import Key, key_of

from .rows import ACCURACY

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from slipring._bus.schema.topic_schema import Schema
    from slipring.pipelines.lake import Lake

MOST_FIELDS = 64  # of a topic
MOST_IN_ALL = 1000
MOST_ITEMS = 16  # of a fixed array that are fields of their own
QUANTILES = (5, 25, 50, 75, 95)
_LONG = "series int, value double, at long, why string"


@dataclass(frozen=True)
class Series:
    """One numeric field of a topic."""

    topic: str
    path: str
    type: str


@dataclass
class Fields:
    """What can be computed of a recording.

    schemas: by topic and generation. series: the fields that are computed. left_out: by topic, the paths of the other
    numeric fields. unread: by topic, why it cannot be decoded."""

    schemas: dict[Key, Schema] = field(default_factory=dict)
    series: list[Series] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    @property
    def topics(self) -> list[str]:
        return sorted({topic for topic, _ in self.schemas})


def recorded(lake: Lake) -> Fields:
    """Return the numeric fields of a recording."""
    found = Fields()
    for topic in sorted({file.topic for file in lake.state.files.values()}):
        try:
            schemas = lake.schemas(topic)
            for schema in schemas.values():
                decoder(schema)
        except SlipringError as error:  # the rest of the report does not need it
            found.unread[topic] = str(error)
            continue
        of_topic(found, topic, schemas)
    return found


def of_topic(found: Fields, topic: str, schemas: Mapping[str, Schema]) -> None:
    """Add a topic with the schemas of its generations, the oldest first."""
    types: dict[str, str] = {}
    for generation, schema in schemas.items():
        found.schemas[key_of(topic, generation)] = schema
        types |= dict(numeric(schema))
    paths, room = list(types), min(MOST_FIELDS, MOST_IN_ALL - len(found.series))
    found.series += [Series(topic, path, types[path]) for path in paths[:room]]
    if paths[room:]:
        found.left_out[topic] = paths[room:]


def numeric(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield path and type of each numeric field."""
    for name, kind in schema.fields:
        yield from _paths(kind, name)


def _paths(kind: kinds.Type, path: str) -> Iterator[tuple[str, str]]:
    match kind:
        case kinds.Int() | kinds.Float() | kinds.Decimal():
            yield path, str(kind)
        case kinds.Nullable(item=item):
            yield from _paths(item, path)
        case kinds.Struct(fields=fields):
            for each in fields:
                yield from _paths(each.type, f"{path}.{each.name}")
        case kinds.Array(item=item, shape=shape) if math.prod(shape) <= MOST_ITEMS:
            for place in itertools.product(*map(range, shape)):
                yield from _paths(item, path + "".join(f"[{at}]" for at in place))
        case kinds.List(item=item) | kinds.Array(item=item) | kinds.Map(item=item):
            yield from _paths(item, f"{path}[]")


def _values(kind: kinds.Type, column: pa.Array, path: str) -> Iterator[tuple[str, pa.Array]]:
    """Yield path and values of the fields of `_paths`, from a decoded column."""
    import pyarrow.compute as pc

    match kind:
        case kinds.Int() | kinds.Float() | kinds.Decimal():
            yield path, column
        case kinds.Nullable(item=item):
            yield from _values(item, column, path)
        case kinds.Struct(fields=fields):
            for at, each in enumerate(fields):
                yield from _values(each.type, pc.struct_field(column, at), f"{path}.{each.name}")
        case kinds.Array(item=item, shape=shape) if math.prod(shape) <= MOST_ITEMS:
            for place in itertools.product(*map(range, shape)):
                inner = column
                for at in place:
                    inner = pc.list_element(inner, at)
                yield from _values(item, inner, path + "".join(f"[{at}]" for at in place))
        case kinds.Array(item=item, shape=shape):
            for _ in shape:
                column = pc.list_flatten(column)
            yield from _values(item, column, f"{path}[]")
        case kinds.List(item=item):
            yield from _values(item, pc.list_flatten(column), f"{path}[]")
        case kinds.Map(item=item):
            yield from _values(item, _items(column), f"{path}[]")


def _items(column: pa.MapArray) -> pa.Array:
    """Return the values in all dicts; pyarrow does not flatten them."""
    if not len(column):
        return column.items.slice(0, 0)
    first, end = column.offsets[0].as_py(), column.offsets[-1].as_py()
    return column.items.slice(first, end - first)


def table(rows: DataFrame, fields: Fields) -> DataFrame:
    """Return one row for each series: its figures; and one for each topic with bodies that do not fit their schema,
    with a series below 0: their number and the first of them."""
    from pyspark.sql import functions as F

    typed = rows.where("timestamp_ns IS NOT NULL").where(F.col("topic").isin(fields.topics))
    known = typed.select("topic", "generation", "offset", "value")
    long = known.mapInArrow(partial(_long, fields), _LONG)
    value = F.col("value")
    there = F.when(~F.isnan(value), value)
    quantiles = F.percentile_approx(there, [percent / 100 for percent in QUANTILES], ACCURACY)
    return long.groupBy("series").agg(
        F.count(there).alias("values"),
        F.min(there).alias("minimum"),
        *(quantiles[at].alias(f"p{percent}") for at, percent in enumerate(QUANTILES)),
        F.max(there).alias("maximum"),
        F.count_if(F.isnan(value)).alias("nan"),
        F.count_if(value.isNull()).alias("null"),
        F.min_by("why", "at").alias("why"),
    )


def _long(fields: Fields, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Decode bodies, and yield one row for each value of each series, and for each bad body."""
    places = {(one.topic, one.path): at for at, one in enumerate(fields.series)}
    topics = {topic: -1 - at for at, topic in enumerate(fields.topics)}
    for batch in batches:
        for key, part in by_generation(batch):
            if key not in fields.schemas:
                continue  # an untyped generation
            schema, topic = fields.schemas[key], key[0]
            found = decoder(schema).decode(part["value"])
            for name, kind in schema.fields:
                for path, values in _values(kind, found.batch[name], name):
                    if (topic, path) in places:
                        yield _of_values(places[topic, path], values)
            if found.bad:
                yield _of_bad(topics[topic], part["offset"], found.bad)


def _of_values(series: int, values: pa.Array) -> pa.RecordBatch:
    import pyarrow as pa

    count = len(values)
    nothing = pa.nulls(count, pa.int64()), pa.nulls(count, pa.string())
    double = values.cast(pa.float64(), safe=False)
    return _batch(pa.repeat(pa.scalar(series, pa.int32()), count), double, *nothing)


def _of_bad(series: int, offsets: pa.Array, bad: Mapping[int, Exception]) -> pa.RecordBatch:
    import pyarrow as pa

    rows = sorted(bad)
    at = offsets.take(pa.array(rows, pa.int64()))
    why = [f"sequence {offset}: {bad[row]}" for row, offset in zip(rows, at.to_pylist(), strict=True)]
    values = pa.nulls(len(rows), pa.float64())
    return _batch(pa.array([series] * len(rows), pa.int32()), values, at, pa.array(why, pa.string()))


def _batch(*columns: pa.Array) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays(list(columns), ["series", "value", "at", "why"])


def found_rows(
    table: list[dict[str, Any]], fields: Fields
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of fields, in order of topic and field, and those of topics with bad bodies."""
    by_series = {row["series"]: row for row in table}
    figures = ("values", "minimum", *(f"p{percent}" for percent in QUANTILES), "maximum", "nan", "null")
    empty = dict.fromkeys(figures) | {"values": 0, "nan": 0, "null": 0}
    rows = []
    for at, one in enumerate(fields.series):
        known = {"topic": one.topic, "field": one.path, "type": one.type}
        rows.append(known | {name: by_series.get(at, empty)[name] for name in figures})
    bad = [
        {"topic": topic, "messages": by_series[-1 - at]["null"], "first": by_series[-1 - at]["why"]}
        for at, topic in enumerate(fields.topics)
        if -1 - at in by_series
    ]
    return rows, bad
