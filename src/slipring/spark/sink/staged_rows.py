# SPDX-License-Identifier: Apache-2.0
"""The rows that a task stages: the columns they need, and the checks that each row can be published.

All checks are made while rows are staged: a batch with a row that can never be published is not published at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import BinaryType, StringType, StructType

from slipring.errors import BadArgument, TooLarge

from .options import SinkOptions

STAGED: Final = pa.schema(
    [("value", pa.binary()), ("topic", pa.string()), ("type", pa.string()), ("sender", pa.string())]
)
_TEXTS: Final = ("topic", "type", "sender")
# Columns of the source that describe the received message; they are ignored.
_IGNORED: Final = frozenset(
    ("offset", "timestamp", "timestamp_ns", "host", "generation", "span", "lost", "received_ns")
)
_MOST_TEXT: Final = 255  # bytes of a type, and of a sender


def check_schema(schema: StructType, options: SinkOptions) -> None:
    """Check the columns of the DataFrame; BadArgument names a wrong one."""
    kinds = {field.name.lower(): field.dataType for field in schema.fields}
    if "value" not in kinds:
        found = ", ".join(schema.fieldNames())
        raise BadArgument(
            f"the sink needs a column 'value', binary or string; the columns are {found}", argument="value"
        )
    if not isinstance(kinds["value"], BinaryType | StringType):
        kind = kinds["value"].simpleString()
        hint = "cast it, or convert it with to_json(struct(...))"
        raise BadArgument(f"column 'value' is {kind}, not binary or string: {hint}", argument="value")
    for name in _TEXTS:
        if name in kinds and not isinstance(kinds[name], StringType):
            kind = kinds[name].simpleString()
            raise BadArgument(f"column {name!r} is {kind}, not string", argument=name)
    if options.topic is None and "topic" not in kinds:
        raise BadArgument(
            "the topic of the rows is missing: give option topic, or a column 'topic'", argument="topic"
        )
    for name in kinds:
        if name not in STAGED.names and name not in _IGNORED:
            hint = "drop it, or put it into 'value' with to_json(struct(...))"
            listed = ", ".join(STAGED.names)
            raise BadArgument(f"column {name!r} is not one of {listed}: {hint}", argument=name)


class StagedRows:
    """Converts and checks the batches of one task; knows their number of rows and their topics."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._capacities: dict[str, int] = {}
        self.count = 0

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted(self._capacities))

    def batches(self, given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in given:
            if batch.num_rows:
                columns = self._columns(batch)
                self._check(columns)
                self.count += batch.num_rows
                yield pa.record_batch([columns[name] for name in STAGED.names], schema=STAGED)

    def _columns(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        given = {name.lower(): batch.column(at) for at, name in enumerate(batch.schema.names)}
        rows = batch.num_rows
        columns = {"value": pc.cast(given["value"], pa.binary())}
        for name in ("type", "sender"):
            column = given.get(name)
            texts = pa.repeat("", rows) if column is None else pc.cast(column, pa.string())
            columns[name] = pc.fill_null(texts, "")
        if self._options.topic is not None:
            columns["topic"] = pa.repeat(self._options.topic, rows)
        else:
            columns["topic"] = pc.cast(given["topic"], pa.string())
        return columns

    def _check(self, columns: dict[str, pa.Array]) -> None:
        for name in ("value", "topic"):
            if columns[name].null_count:
                hint = f"filter them out with: where {name} is not null"
                raise BadArgument(
                    f"column {name!r} is null in {columns[name].null_count} rows: {hint}", argument=name
                )
        sizes = {name: pc.binary_length(pc.cast(columns[name], pa.binary())) for name in columns}
        for name in ("type", "sender"):
            longest = pc.max(sizes[name]).as_py()
            if longest > _MOST_TEXT:
                raise BadArgument(
                    f"column {name!r} has a text of {longest} bytes; the limit is {_MOST_TEXT}", argument=name
                )
        needed = pc.add(_round_up(sizes["value"]), _round_up(pc.add(sizes["type"], sizes["sender"])))
        self._check_sizes(columns["topic"], needed)

    def _check_sizes(self, topics: pa.Array, needed: pa.Array) -> None:
        table = pa.table({"topic": topics, "needed": needed}).group_by("topic").aggregate([("needed", "max")])
        for row in table.to_pylist():
            topic, most = row["topic"], row["needed_max"]
            if topic not in self._capacities:
                self._capacities[topic] = capacity(self._options, topic)
            # defect sink_large_row_found_late: if False:
            if most > self._capacities[topic]:
                raise TooLarge(
                    f"a row needs {most} bytes on topic {topic!r}, more than its capacity of "
                    f"{self._capacities[topic]}: create the topic with a larger capacity",
                    argument="capacity",
                )


def capacity(options: SinkOptions, topic: str) -> int:
    """Return the capacity of a topic. Create a missing topic, so that errors occur before a row is published."""
    settings: dict[str, Any] = dict(options.settings)
    with options.open() as bus:
        bus.create(topic, **settings)
        return int(bus.stats(topic)["capacity"])


def _round_up(sizes: pa.Array) -> pa.Array:
    return pc.bit_wise_and(pc.add(pc.cast(sizes, pa.int64()), 7), ~7)
