# SPDX-License-Identifier: Apache-2.0
"""Batches and streams with a column for each field: topic, offset, timestamp, sender, type, then the fields.

A message that cannot be decoded has no row. `recv_batch` raises its error, which has the rows of all other messages; a
stream yields these rows first. So a bad message neither hides nor stops the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from slipring.errors import Closed, SchemaMismatch, TopicNotFound, Undecodable

from .. import batches
from ..schema.field_types import Struct, Type
from .error_place import locate

if TYPE_CHECKING:
    import pyarrow

    from ..schema.topic_schema import Schema

HEAD = ("topic", "offset", "timestamp", "sender", "type")


class Columns:
    """Decodes batches of one topic. found: the topic's schema; own: that of the subscriber's class, or None."""

    def __init__(self, found: Schema, own: Schema | None = None) -> None:
        from ..schema.codec import own_schema
        from ..schema.row_batches import BatchDecoder

        pa = batches.pyarrow()
        self._decoder = BatchDecoder(found)
        self._found, self._own = found, found if own is None else own_schema(own, found)
        self._fields = self._own.arrow
        theirs = set(found.arrow)
        changed = {each.name for each in self._fields if each not in theirs}
        self._in_columns = not any(_has_structure(kind) for name, kind in self._own.fields if name in changed)
        self.schema = pa.schema([*(batches.columns(pa).field(name) for name in HEAD), *self._fields])

    def of(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """Return a batch of `Subscriber.recv_batch` with the fields in place of `value`."""
        pa = batches.pyarrow()
        found = self._decoder.decode(batch.column("value"))
        head = batch.select(list(HEAD))
        if found.rows is not None:
            head = head.take(pa.array(found.rows, pa.int64()))
        columns = [*head.columns, *self._of_class(found.batch)]
        decoded = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        # defect bad_messages_left_out_silently: if False:
        if found.bad:
            at = min(found.bad)
            error = found.bad[at]
            locate(error, batch.column("topic")[at].as_py(), batch.column("offset")[at].as_py())
            if len(found.bad) > 1:
                error.add_note(f"{len(found.bad) - 1} more messages of this batch cannot be decoded")
            error.batch = decoded
            raise error
        return decoded

    def _of_class(self, fields: pyarrow.RecordBatch) -> list[Any]:
        """Return the columns of the subscriber's class."""
        if fields.schema.equals(self._fields):
            return list(fields.columns)
        if self._in_columns:
            return self._cast(fields)
        from ..schema.bound_classes import build, plain
        from ..schema.encodings import arrow_types

        root, bound = self._own.root, plain(self._own.root)
        rows = arrow_types.to_rows(self._found.fields, fields)
        return list(arrow_types.from_rows(self._own, [build(root, bound, row) for row in rows]).columns)

    def _cast(self, fields: Any) -> list[Any]:
        pa, defaults = batches.pyarrow(), self._own.defaults
        columns = dict(zip(fields.schema.names, fields.columns, strict=True))
        found = []
        for each in self._fields:
            column = columns.get(each.name)
            if column is not None:
                found.append(column if column.type == each.type else column.cast(each.type))
            else:
                found.append(pa.array([defaults[each.name]] * fields.num_rows, each.type))
        return found


def _has_structure(kind: Type) -> bool:
    """Return whether there is a structure in a type. pyarrow cannot add fields to one, and does not always say so."""
    return isinstance(kind, Struct) or any(_has_structure(part) for part in kind.parts())


def check_equal(pattern: str, one: tuple[str, Columns | None], other: tuple[str, Columns | None]) -> None:
    """Refuse two topics, each with its columns, whose columns differ: they cannot be in one batch."""
    schemas = [_schema(columns) for _, columns in (one, other)]
    if schemas[0].equals(schemas[1]):
        return
    kinds = [{each.name: f"{each.type}{' or null' * each.nullable}" for each in schema} for schema in schemas]
    names = list(dict.fromkeys([*kinds[0], *kinds[1]]))
    field = next((name for name in names if kinds[0].get(name) != kinds[1].get(name)), "")
    found, asked = (each.get(field, "missing") for each in kinds)
    what = (
        f"column {field} is {found} in the first and {asked} in the second" if field else "in another order"
    )
    raise SchemaMismatch(
        f"topics {one[0]!r} and {other[0]!r} of pattern {pattern!r} have different columns ({what}): give schema= with "
        "a class that fits all topics, or read without decode=True",
        found=found,
        asked=asked,
        field=field,
    )


def _schema(columns: Columns | None) -> pyarrow.Schema:
    return batches.columns(batches.pyarrow()) if columns is None else columns.schema


def decoded(parts: list[tuple[Columns | None, pyarrow.RecordBatch]]) -> list[pyarrow.RecordBatch]:
    """Return the decoded batches of several topics; Undecodable, with the rows of all, if a message is bad."""
    found: list[Any] = []
    errors: list[Undecodable] = []
    for columns, raw in parts:
        try:
            found.append(raw if columns is None else columns.of(raw))
        except Undecodable as error:
            found.append(error.batch)
            errors.append(error)
    if errors:
        for other in errors[1:]:
            errors[0].add_note(str(other))
        errors[0].batch = batches.joined(found)
        raise errors[0]
    return found


class BatchStream:
    """Batches of a subscriber as an Arrow stream for DuckDB, Polars and pyarrow. Made by `Subscriber.stream`."""

    def __init__(
        self, subscriber: Any, n: int | None, timeout: float | None, rows: int, decode: bool
    ) -> None:
        self._subscriber, self._left, self._timeout = subscriber, n, timeout
        self._rows, self._decode = rows, decode

    @property
    def schema(self) -> pyarrow.Schema:
        """The columns of the batches; TopicNotFound while the topic does not exist."""
        subscriber = self._subscriber
        subscriber._ready()  # attaches, if the topic is there now
        if not subscriber.attached:
            text = f"topic {subscriber.topic!r} does not exist yet, and a stream needs its columns: create it first"
            raise TopicNotFound(text, argument="topic")
        columns = subscriber._columns() if self._decode else None
        return _schema(columns)

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]:
        """Yield batches until the end of the stream: `Subscriber.stream`."""
        while self._left is None or self._left > 0:
            limit = self._rows if self._left is None else min(self._rows, self._left)
            try:
                batch, taken = self._next(limit)
            except Undecodable as error:
                others: Any = error.batch
                if others is not None and others.num_rows:
                    yield others
                raise
            except Closed:
                return
            if taken == 0:
                return
            if self._left is not None:
                self._left -= taken
            yield batch

    def _next(self, limit: int) -> tuple[Any, int]:
        """Return a batch and the number of its messages."""
        if self._decode:
            found: tuple[Any, int] = self._subscriber._decoded(limit, self._timeout)
            return found
        raw = self._subscriber.recv_batch(limit, self._timeout)
        return raw, raw.num_rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader = batches.pyarrow().RecordBatchReader.from_batches(self.schema, iter(self))
        return reader.__arrow_c_stream__(requested_schema)
