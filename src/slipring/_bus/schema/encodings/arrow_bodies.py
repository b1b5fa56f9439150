# SPDX-License-Identifier: Apache-2.0
"""Encoding arrow: a body is one record batch, an encapsulated message of Arrow's IPC format without its schema.

The schema is that of the topic, so that a batch of one row costs its columns alone. Compressed batches are refused, as
a small one could need any amount of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument, Undecodable

from .. import bound_classes, packages
from .. import field_types as kinds
from ..plain_values import to_plain
from . import arrow_types
from .flatbuffers_tables import SCALARS, Buffer, Malformed

if TYPE_CHECKING:
    from ..compatibility import View
    from ..topic_schema import Schema

_RECORD_BATCH = 3  # of the union MessageHeader


def encoder(schema: Schema) -> Callable[[Any], Any]:
    """Return the function that encodes a RecordBatch, a Table, a dict (one row) or a list of dicts."""
    pa = packages.pyarrow()
    arrow, kind = schema.arrow, schema.root

    def encode(value: Any) -> Any:
        if isinstance(value, pa.Table):
            batches = value.combine_chunks().to_batches()
            value = batches[0] if batches else pa.RecordBatch.from_pylist([], schema=value.schema)
        if isinstance(value, pa.RecordBatch):
            check(arrow, value)
        else:
            rows = value if isinstance(value, list) else [value]
            value = arrow_types.from_rows(schema, [to_plain(kind, row) for row in rows])
        return value.serialize()

    return encode


def check(arrow: Any, batch: Any) -> None:
    """Refuse a batch with other columns than the topic's, or with NULL where none is allowed."""
    known = ", ".join(arrow.names)
    for each in arrow:
        if each.name not in batch.schema.names:
            raise BadArgument(f"column {each.name} is missing: the columns are {known}", argument=each.name)
    for at, found in enumerate(batch.schema):
        if found.name not in arrow.names:
            raise BadArgument(
                f"column {found.name} is not in the schema: its columns are {known}", argument=found.name
            )
        wanted = arrow.field(at) if at < len(arrow) else None
        if wanted is None or found.name != wanted.name:
            raise BadArgument(f"the columns must be in this order: {known}", argument=found.name)
        if found.type != wanted.type:
            text = f"column {found.name} is {found.type}, the schema has {wanted.type}: cast it"
            raise BadArgument(text, argument=found.name)
    field = null_column(arrow, batch)
    if field is not None:
        raise BadArgument(f"column {field} has NULL, which the schema does not allow", argument=field)


def null_column(arrow: Any, batch: Any) -> str | None:
    """Return the path of the first column that has NULL although its field does not allow it."""
    pairs = zip(arrow, batch.columns, strict=True)
    return next(
        (
            found
            for each, array in pairs
            if (found := arrow_types.null_where_none_is_allowed(each, array, each.name))
        ),
        None,
    )


def reader(schema: Schema) -> Callable[[Any], Any]:
    """Return the function that decodes a body into a RecordBatch of its own memory."""
    pa = packages.pyarrow()
    arrow = schema.arrow

    def read(body: Any) -> Any:
        data = body if type(body) is bytes else bytes(body)
        try:
            _refuse_compression(data)
            batch = pa.ipc.read_record_batch(pa.py_buffer(data), arrow)
            batch.validate(full=True)
            field = null_column(arrow, batch)
        except (Malformed, pa.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
            raise Undecodable(f"the body is not a record batch of the schema: {error}") from None
        if field is not None:
            raise Undecodable(f"column {field} has NULL, which the schema does not allow", field=field)
        return batch

    return read


def _refuse_compression(data: bytes) -> None:
    buffer = Buffer(data)
    start = 8 if buffer.scalar(SCALARS["uint32"], 0) == 0xFFFFFFFF else 4
    metadata = Buffer(buffer.raw(start, max(0, buffer.scalar(SCALARS["int32"], start - 4))))
    message = metadata.table(0)
    if message.scalar(1, "uint8") != _RECORD_BATCH or not message.place(2):
        raise Malformed("the message is not a record batch")
    if metadata.table(message.place(2)).place(3):
        raise Malformed("the record batch is compressed: write it without compression")


def decoder(view: View) -> Callable[[Any], Any]:
    """Return the function that decodes a body into a RecordBatch, or into a list of the view's objects."""
    read = reader(view.found)
    bound, own = view.bound, view.own
    if bound is None:
        if own is view.found or own.encoding != "arrow":
            return read
        return lambda body: selected(read(body), own)
    kind, fields = own.root, tuple(each for each in view.found.fields if each[0] in dict(own.fields))

    def decode(body: Any) -> list[Any]:
        return [bound_classes.build(kind, bound, row) for row in rows(fields, read(body))]

    return decode


def rows(fields: tuple[tuple[str, kinds.Type], ...], batch: Any) -> list[dict[str, Any]]:
    """Return the rows of a decoded batch as dicts of plain values."""
    try:
        return arrow_types.to_rows(fields, batch)
    except (ValueError, OverflowError) as error:
        raise Undecodable(f"the body has a value that Python does not have: {error}") from None


def selected(batch: Any, own: Schema) -> Any:
    """Return the columns of the subscriber's own schema, with its types."""
    pa = packages.pyarrow()
    columns = [
        batch.column(each.name).cast(each.type)
        if each.name in batch.schema.names
        else pa.nulls(batch.num_rows, each.type)
        for each in own.arrow
    ]
    return pa.RecordBatch.from_arrays(columns, schema=own.arrow)
