# SPDX-License-Identifier: Apache-2.0
"""The rows that a task stages: the columns they need, and the checks that each row can be published.

All checks are made while rows are staged: a batch with a row that can never be published is not published at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StringType, StructType

from slipring.errors import BadArgument, TooLarge

from . import bodies
from .bodies import Bodies
from .options import SinkOptions

STAGED: Final = pa.schema(
    [("value", pa.binary()), ("topic", pa.string()), ("type", pa.string()), ("sender", pa.string())]
)
_MOST_TEXT: Final = 255  # bytes of a type, and of a sender


def check_schema(frame: StructType, options: SinkOptions) -> None:
    """Check the columns of the DataFrame; BadArgument names a wrong one."""
    kinds = {field.name.lower(): field.dataType for field in frame.fields}
    for name in bodies.TEXTS:
        if name in kinds and not isinstance(kinds[name], StringType):
            kind = kinds[name].simpleString()
            raise BadArgument(f"column {name!r} is {kind}, not string", argument=name)
    if options.topic is None and "topic" not in kinds:
        raise BadArgument(
            "the topic of the rows is missing: give option topic, or a column 'topic'", argument="topic"
        )
    with options.open() as bus:
        schema = None
        if options.topic is not None and not options.raw:
            schema = bodies.schema_of(bus, options.topic)
        if options.topic is not None and schema is not None:
            bodies.check_fields(schema, options.topic, frame)
            return
        try:
            bodies.check_value(frame)
        except BadArgument:
            if options.topic is not None or options.raw or not bodies.has_typed_topic(bus):
                raise
            # The rows name their topics: tasks check the columns for each of them.


class StagedRows:
    """Converts and checks the batches of one task; knows their number of messages, their topics and the schemas."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._bodies: dict[str, Bodies] = {}
        self.count = 0

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted(self._bodies))

    @property
    def schemas(self) -> dict[str, str]:
        """The fingerprint of the schema by which rows were encoded, of each typed topic."""
        found = {topic: bodies.fingerprint(one.schema) for topic, one in self._bodies.items()}
        return {topic: text for topic, text in found.items() if text is not None}

    def batches(self, given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in given:
            if batch.num_rows:
                columns = self._columns(batch)
                self._check(columns)
                self.count += len(columns["value"])
                yield pa.record_batch([columns[name] for name in STAGED.names], schema=STAGED)

    def _columns(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        given = {name.lower(): batch.column(at) for at, name in enumerate(batch.schema.names)}
        rows = batch.num_rows
        texts: dict[str, pa.Array] = {}
        for name in ("type", "sender"):
            column = given.get(name)
            text = pa.repeat("", rows) if column is None else pc.cast(column, pa.string())
            texts[name] = pc.fill_null(text, "")
        if self._options.topic is not None:
            texts["topic"] = pa.repeat(self._options.topic, rows)
        else:
            texts["topic"] = pc.cast(given["topic"], pa.string())
            _refuse_null("topic", texts["topic"])
        values, messages = self._values(batch, texts)
        if messages is not None:
            texts = {name: column.take(messages) for name, column in texts.items()}
        return {"value": values, **texts}

    def _values(self, batch: pa.RecordBatch, texts: dict[str, pa.Array]) -> tuple[pa.Array, pa.Array | None]:
        """Return the bodies, and the first row of each; None: there is one for each row."""
        topics = pc.unique(texts["topic"]).to_pylist()
        if len(topics) == 1:
            values, rows = self._of(topics[0]).of(batch, [texts["type"], texts["sender"]])
            return values, None if rows is None else pa.array(rows, pa.int64())
        parts, places = [], []
        for topic in topics:
            at = pc.indices_nonzero(pc.equal(texts["topic"], topic))
            of_topic = [texts[name].take(at) for name in ("type", "sender")]
            values, rows = self._of(topic).of(batch.take(at), of_topic)
            parts.append(values)
            places.append(at if rows is None else at.take(pa.array(rows, pa.int64())))
        messages = pa.concat_arrays(places)
        order = pc.sort_indices(messages)
        return pa.concat_arrays(parts).take(order), messages.take(order)

    def _of(self, topic: str) -> Bodies:
        found = self._bodies.get(topic)
        if found is None:
            room = capacity(self._options, topic)
            with self._options.open() as bus:
                schema = None if self._options.raw else bodies.schema_of(bus, topic)
            found = self._bodies[topic] = Bodies(topic, schema, room)
        return found

    def _check(self, columns: dict[str, pa.Array]) -> None:
        _refuse_null("value", columns["value"])
        sizes = {name: pc.binary_length(pc.cast(columns[name], pa.binary())) for name in columns}
        for name in ("type", "sender"):
            longest = pc.max(sizes[name]).as_py()
            if longest is not None and longest > _MOST_TEXT:
                raise BadArgument(
                    f"column {name!r} has a text of {longest} bytes; the limit is {_MOST_TEXT}", argument=name
                )
        needed = pc.add(_round_up(sizes["value"]), _round_up(pc.add(sizes["type"], sizes["sender"])))
        self._check_sizes(columns["topic"], needed)

    def _check_sizes(self, topics: pa.Array, needed: pa.Array) -> None:
        table = pa.table({"topic": topics, "needed": needed}).group_by("topic").aggregate([("needed", "max")])
        for row in table.to_pylist():
            topic, most = row["topic"], row["needed_max"]
            room = self._bodies[topic].capacity
            # defect sink_large_row_found_late: if False:
            if most > room:
                raise TooLarge(
                    f"a row needs {most} bytes on topic {topic!r}, more than its capacity of {room}: create the topic "
                    f"with a larger capacity",
                    argument="capacity",
                )


def _refuse_null(name: str, column: pa.Array) -> None:
    if column.null_count:
        hint = f"filter them out with: where {name} is not null"
        raise BadArgument(f"column {name!r} is null in {column.null_count} rows: {hint}", argument=name)


def capacity(options: SinkOptions, topic: str) -> int:
    """Return the capacity of a topic. Create a missing topic, so that errors occur before a row is published."""
    settings: dict[str, Any] = dict(options.settings)
    with options.open() as bus:
        bus.create(topic, **settings)
        return int(bus.stats(topic)["capacity"])


def _round_up(sizes: pa.Array) -> pa.Array:
    return pc.bit_wise_and(pc.add(pc.cast(sizes, pa.int64()), 7), ~7)
