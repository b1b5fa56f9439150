# SPDX-License-Identifier: Apache-2.0
"""Values decoded into typed columns, for those who ask (options valueFormat, valueSchema, valueDtype, mode).

A Decoder is made in each worker from options and the frame's schema. It turns a batch of messages, with their
values, into a batch of the frame. What happens to a message that does not decode is option mode's: FAILFAST
(default) stops the query and names it, PERMISSIVE gives it NULLs, DROPMALFORMED leaves it out. Holes
(includeGaps) have no value; their decoded columns are NULL, whatever mode says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from ..errors import BadOption, BadValue
from ..source import schema
from ..source.options import SourceOptions
from . import arrow_values, numpy_values, row_values

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("json", "msgpack", "numpy", "arrow")


@dataclass
class Decoded:
    columns: list[pa.Array]
    bad: dict[int, str]  # messages that do not decode, and why; their columns are anything
    rows: list[int] | None = None  # of which message each row is; None: one each, in order
    empty: set[int] = field(default_factory=set)  # messages without a value


class Decoder:
    def __init__(self, options: SourceOptions) -> None:
        value = schema.of_value(options)
        assert value is not None
        self._mode, self._names = options.mode, options.columns
        self._arrow = to_arrow_schema(value, timezone="UTC")
        self._frame = to_arrow_schema(schema.of_frame(options), timezone="UTC")
        self._decode = _format(options, value, self._arrow)
        self.columns = tuple(dict.fromkeys((*options.columns, "offset", "value")))

    def decode(self, topic: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of the frame, from one with `self.columns`."""
        import pyarrow as pa

        decoded = self._decode(batch["value"])
        # defect spark_bad_value_is_null: if False:
        if decoded.bad and self._mode == "FAILFAST":
            row = min(decoded.bad)
            raise BadValue(topic, batch["offset"][row].as_py(), decoded.bad[row])
        message = [batch[name] for name in self._names]
        columns = decoded.columns
        if decoded.rows is not None or decoded.bad or decoded.empty:
            of_message, of_value = self._places(decoded, batch.num_rows)
            message = [column.take(of_message) for column in message]
            columns = [column.take(of_value) for column in columns]
        return pa.RecordBatch.from_arrays([*message, *columns], schema=self._frame)

    def _places(self, decoded: Decoded, count: int) -> tuple[pa.Array, pa.Array]:
        """For each row of the result, which message and which decoded row (NULL: none) it is made of."""
        import pyarrow as pa

        rows = range(count) if decoded.rows is None else decoded.rows
        pairs: list[tuple[int, int | None]] = [
            (message, at)
            for at, message in enumerate(rows)
            if message not in decoded.bad and message not in decoded.empty
        ]
        kept = set(decoded.empty)
        if self._mode == "PERMISSIVE":
            kept |= set(decoded.bad)
        if kept:
            pairs = sorted([*pairs, *((message, None) for message in kept)], key=lambda pair: pair[0])
        of_message = pa.array([message for message, _ in pairs], pa.int64())
        return of_message, pa.array([at for _, at in pairs], pa.int64())


def check(options: SourceOptions) -> None:
    """Everything that can be wrong with these options is wrong now, not in a worker."""
    if options.value_format is not None:
        Decoder(options)


def _format(options: SourceOptions, value: T.StructType, arrow: pa.Schema) -> Any:
    name = options.value_format or ""
    if options.value_dtype is not None and name != "numpy":
        raise BadOption("valueDtype", f"it belongs to valueFormat numpy, not {name}")
    if name == "numpy":
        return _numpy(numpy_values.dtype_of(options.value_dtype), arrow)
    if name == "arrow":
        return lambda values: _ipc(values, arrow)
    if name in ("json", "msgpack"):
        decode = row_values.by_msgspec(name, value)
    elif ":" in name:
        decode = row_values.by_function(name)
    else:
        raise BadOption("valueFormat", f"{name!r} is none of {', '.join(FORMATS)}, nor module:function")
    return lambda values: _one_by_one(values, decode, arrow)


def _one_by_one(values: pa.Array, decode: row_values.Decode, arrow: pa.Schema) -> Decoded:
    import pyarrow as pa

    rows: list[Mapping[str, Any]] = []
    bad: dict[int, str] = {}
    empty: set[int] = set()
    for at, value in enumerate(values.to_pylist()):
        row: Mapping[str, Any] = {}
        try:
            if value is None:
                empty.add(at)
            else:
                row = decode(value)
                row.keys()
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything, and it is told
            bad[at] = f"{type(error).__name__}: {error}"
            row = {}
        rows.append(row)
    try:
        batch = pa.RecordBatch.from_pylist(rows, schema=arrow)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        bad |= _misfits(rows, arrow)
        batch = pa.RecordBatch.from_pylist(
            [{} if at in bad else row for at, row in enumerate(rows)], schema=arrow
        )
    return Decoded(batch.columns, bad, None, empty)


def _misfits(rows: list[Mapping[str, Any]], arrow: pa.Schema) -> dict[int, str]:
    import pyarrow as pa

    bad = {}
    for at, row in enumerate(rows):
        try:
            pa.RecordBatch.from_pylist([row], schema=arrow)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            bad[at] = f"it does not fit option valueSchema: {error}"
    return bad


def _ipc(values: pa.Array, arrow: pa.Schema) -> Decoded:
    columns, rows, bad, empty = arrow_values.columns_of(values, arrow)
    return Decoded(columns, bad, rows, empty)


def _numpy(dtype: Any, arrow: pa.Schema) -> Any:
    import numpy
    import pyarrow as pa

    for column in arrow:
        if column.name not in dtype.names:
            why = f"column {column.name} is no field of option valueDtype: there are {', '.join(dtype.names)}"
            raise BadOption("valueSchema", why)
    try:
        numpy_values.columns_of(numpy.empty(0, dtype), arrow)
    except (pa.ArrowException, NotImplementedError) as error:
        raise BadOption("valueSchema", f"option valueDtype does not convert to it: {error}") from None

    def decode(values: pa.Array) -> Decoded:
        records, bad = numpy_values.records_of(values, dtype)
        empty = {at for at, value in enumerate(values) if not value.is_valid} if values.null_count else set()
        try:
            columns = numpy_values.columns_of(records, arrow)
        except pa.ArrowException:
            records, bad = numpy_values.without_misfits(records, bad, arrow)
            columns = numpy_values.columns_of(records, arrow)
        return Decoded(columns, bad, None, empty)

    return decode
