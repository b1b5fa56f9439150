# SPDX-License-Identifier: Apache-2.0
"""Many bodies as Arrow columns, and rows of columns as bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from slipring.errors import BadArgument, Undecodable

from . import packages
from .codec import Decoder, Encoder
from .encodings import arrow_types
from .topic_schema import Schema


@dataclass(frozen=True, slots=True)
class DecodedBatch:
    """batch: the rows of all bodies that fit the schema, with the columns of `Schema.arrow`.

    rows: the index of the body of each row; None: row i is body i. bad: why a body has no row, by its index.
    """

    batch: Any
    rows: list[int] | None
    bad: dict[int, Undecodable]


class BatchDecoder:
    """Decodes bodies into columns, prepared once for each schema. A bad body does not stop the others."""

    def __init__(self, schema: Schema) -> None:
        packages.pyarrow()
        self.schema = schema
        self._decode = {"numpy": self._numpy, "arrow": self._arrow}.get(schema.encoding, self._one_by_one)
        if schema.encoding == "numpy":
            from .encodings.numpy_bodies import Reader

            self._reader, self._records = Reader(schema), schema.records
        else:
            self._decoder = Decoder(schema)
        self._columns = schema.arrow

    def decode(self, bodies: Any) -> DecodedBatch:
        """Return the columns of these bodies: bytes-like objects, or an Arrow array of binary."""
        return self._decode(bodies)

    def _numpy(self, bodies: Any) -> DecodedBatch:
        pa, size = packages.pyarrow(), self._reader.size
        arrow = isinstance(bodies, (pa.BinaryArray, pa.LargeBinaryArray))
        data = _contiguous(bodies, size) if arrow else None
        bad: dict[int, Undecodable] = {}
        rows: Sequence[int] = range(len(bodies))
        if data is None:
            buffers = _buffers(bodies)
            bad = {
                at: self._reader.wrong_size(len(body)) if body is not None else _no_body()
                for at, body in enumerate(buffers)
                if body is None or len(body) != size
            }
            rows = [at for at in rows if at not in bad] if bad else rows
            data = b"".join([buffers[at] for at in rows])
        batch = self._records.split(data, len(rows))
        if batch is None:
            wrong = self._reader.bad(data, len(rows))
            bad |= {rows[at]: error for at, error in wrong.items()}
            good = [at for at in range(len(rows)) if at not in wrong]
            data, rows = self._reader.many(data, len(rows))[good], [rows[at] for at in good]
            batch = self._records.split(memoryview(data.tobytes()), len(rows))
        return DecodedBatch(batch, list(rows) if bad else None, bad)

    def _arrow(self, bodies: Any) -> DecodedBatch:
        pa = packages.pyarrow()
        batches, rows, bad = [], [], {}
        for at, body in enumerate(_buffers(bodies)):
            try:
                batch = self._decoder.decode(_present(body))
            except Undecodable as error:
                bad[at] = error
                continue
            batches.append(batch)
            rows += [at] * batch.num_rows
        table = pa.Table.from_batches(batches, self._columns).combine_chunks()
        whole = table.to_batches()
        batch = whole[0] if whole else pa.RecordBatch.from_pylist([], schema=self._columns)
        return DecodedBatch(batch, rows, bad)

    def _one_by_one(self, bodies: Any) -> DecodedBatch:
        decode, found, rows = self._decoder.decode, [], []
        bad: dict[int, Undecodable] = {}
        for at, body in enumerate(_buffers(bodies)):
            try:
                found.append(decode(_present(body)))
                # defect rows_not_those_of_their_bodies: rows.append(len(rows))
                rows.append(at)
            except Undecodable as error:
                bad[at] = error
        try:
            batch = arrow_types.from_rows(self.schema, found)
        except (packages.pyarrow().ArrowException, ValueError, OverflowError, TypeError):
            wrong = self._misfits(found)
            bad |= {rows[at]: error for at, error in wrong.items()}
            rows = [row for at, row in enumerate(rows) if at not in wrong]
            batch = arrow_types.from_rows(
                self.schema, [row for at, row in enumerate(found) if at not in wrong]
            )
        return DecodedBatch(batch, rows if bad else None, bad)

    def _misfits(self, found: list[dict[str, Any]]) -> dict[int, Undecodable]:
        """Return the rows with a value that Arrow does not have."""
        wrong = {}
        for at, row in enumerate(found):
            try:
                arrow_types.from_rows(self.schema, [row])
            except (packages.pyarrow().ArrowException, ValueError, OverflowError, TypeError) as error:
                wrong[at] = Undecodable(f"the body has a value that Arrow does not have: {error}")
        return wrong


def decode_batch(schema: Schema, bodies: Any) -> DecodedBatch:
    """Return the columns of bodies, with the schema `schema.arrow`. BatchDecoder is prepared once for many calls."""
    return BatchDecoder(schema).decode(bodies)


def _no_body() -> Undecodable:
    return Undecodable("there is no body: the value is NULL")


def _present(body: Any) -> Any:
    if body is None:
        raise _no_body()
    return body


def _buffers(bodies: Any) -> Sequence[Any]:
    if hasattr(bodies, "to_pylist"):
        found: list[Any] = bodies.to_pylist()
        return found
    return bodies if isinstance(bodies, (list, tuple)) else list(bodies)


def _contiguous(array: Any, size: int) -> Any:
    """Return the bytes of an Arrow array whose values all have this size, or None."""
    numpy = packages.numpy()
    if array.null_count or not len(array):
        return None
    kind = "i8" if str(array.type).startswith("large") else "i4"
    _, offsets, data = array.buffers()
    ends = numpy.frombuffer(offsets, kind)[array.offset : array.offset + len(array) + 1]
    if data is None or not (numpy.diff(ends) == size).all():
        return None
    return memoryview(data)[int(ends[0]) : int(ends[-1])]


def rows_to_records(schema: Schema, batch: Any) -> memoryview:
    """Return the bodies of the rows of a RecordBatch, one after the other. Encoding numpy only; errors as below."""
    return schema.records.join(_without_nulls(schema, _fitted(schema, batch)))


def _without_nulls(schema: Schema, batch: Any) -> Any:
    from .encodings import arrow_bodies

    field = arrow_bodies.null_column(schema.arrow, batch)
    if field is not None:
        raise BadArgument(f"column {field} has NULL, which the schema does not allow", argument=field)
    return batch


def rows_to_bodies(schema: Schema, batch: Any) -> list[Any]:
    """Return one body for each row of a RecordBatch; encoding arrow: one body for the batch.

    Columns are found by name and cast where nothing is lost; a missing one takes the default of its field. BadArgument
    names the column, or the row and the field.
    """
    if schema.encoding == "numpy":
        data = rows_to_records(schema, batch)
        size = len(data) // batch.num_rows if batch.num_rows else 0
        return [data[at * size : (at + 1) * size] for at in range(batch.num_rows)]
    batch = _fitted(schema, batch)
    if schema.encoding == "arrow":
        return [Encoder(schema).encode(batch)]
    _without_nulls(schema, batch)
    try:
        rows = arrow_types.to_rows(schema.fields, batch)
    except (ValueError, OverflowError) as error:
        raise BadArgument(
            f"the rows have a value that Python does not have: {error}", argument="batch"
        ) from None
    encode, bodies = Encoder(schema).encode, []
    for at, row in enumerate(rows):
        try:
            bodies.append(encode(row))
        except BadArgument as error:
            raise BadArgument(f"row {at}: {error}", argument=error.argument) from None
    return bodies


def _fitted(schema: Schema, batch: Any) -> Any:
    """Return the batch with exactly the columns of the schema."""
    from .encodings import arrow_casts

    pa = packages.pyarrow()
    arrow, columns = schema.arrow, []
    names = batch.schema.names
    for name in names:
        if name not in arrow.names:
            known = ", ".join(arrow.names)
            raise BadArgument(f"column {name} is not in the schema: its columns are {known}", argument=name)
    defaults = schema.defaults
    for each in arrow:
        if each.name in names:
            column = batch.column(each.name)
        elif each.name in defaults:
            column = pa.array([defaults[each.name]] * batch.num_rows, each.type)
        else:
            raise BadArgument(f"column {each.name} is missing: it is {each.type}", argument=each.name)
        try:
            columns.append(column if column.type == each.type else arrow_casts.cast(column, each.type))
        except (pa.ArrowException, ValueError) as error:
            text = f"column {each.name} is {column.type}, which does not fit {each.type}: {error}"
            raise BadArgument(text, argument=each.name) from None
    return pa.RecordBatch.from_arrays(columns, schema=arrow)
