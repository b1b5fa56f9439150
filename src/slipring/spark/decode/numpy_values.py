# SPDX-License-Identifier: Apache-2.0
"""Values that are numpy structures: one record of a fixed dtype per message, decoded column by column."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T

from ..errors import BadOption

if TYPE_CHECKING:
    import pyarrow as pa

OPTION = "valueDtype"
_NUMBERS: dict[str, T.DataType] = {
    "b1": T.BooleanType(),
    "i1": T.ByteType(),
    "i2": T.ShortType(),
    "i4": T.IntegerType(),
    "i8": T.LongType(),
    "u1": T.ShortType(),
    "u2": T.IntegerType(),
    "u4": T.LongType(),
    "u8": T.DecimalType(20, 0),
    "f2": T.FloatType(),
    "f4": T.FloatType(),
    "f8": T.DoubleType(),
}
_KINDS: dict[str, T.DataType] = {
    "S": T.BinaryType(),
    "V": T.BinaryType(),
    "U": T.StringType(),
    "M": T.TimestampType(),
}


def dtype_of(text: str | None) -> Any:
    """Return the dtype of option valueDtype, such as "[('x', '<f4'), ('y', '<f4')]" or any text for numpy.dtype."""
    try:
        import numpy
    except ImportError:
        raise BadOption(
            "valueFormat", 'numpy needs the package numpy: pip install "slipring[numpy]"'
        ) from None
    if text is None:
        raise BadOption(
            OPTION, "it is missing: give the record's fields, such as [('x', '<f4'), ('y', '<f4')]"
        )
    try:
        described = ast.literal_eval(text) if text.lstrip().startswith(("[", "{")) else text
        dtype = numpy.dtype(described)
    except (TypeError, ValueError, SyntaxError) as error:
        raise BadOption(OPTION, f"{text!r} is not a numpy dtype: {error}") from None
    if dtype.names is None or dtype.hasobject or dtype.itemsize == 0:
        raise BadOption(
            OPTION, f"{text!r} is not a structure with named fields: write, for example, [('x', '<f8')]"
        )
    return dtype


def schema_of(dtype: Any) -> T.StructType:
    """Return the columns of a record, the default of option valueSchema."""
    return T.StructType([T.StructField(name, _type_of(dtype[name], name), True) for name in dtype.names])


def _type_of(dtype: Any, name: str) -> T.DataType:
    if dtype.subdtype:
        element = _type_of(dtype.base, name)
        for _ in dtype.shape:
            element = T.ArrayType(element, True)
        return element
    if dtype.names:
        return schema_of(dtype)
    found = _NUMBERS.get(f"{dtype.kind}{dtype.itemsize}") or _KINDS.get(dtype.kind)
    if found is None:
        raise BadOption(OPTION, f"Spark has no column type for field {name!r} of type {dtype}: leave it out")
    return found


def columns_of(records: Any, schema: pa.Schema) -> list[pa.Array]:
    """Return the Arrow columns, of the given types, of a numpy array of records."""
    return [_arrow(records[field.name]).cast(field.type) for field in schema]


def _arrow(array: Any) -> pa.Array:
    import numpy
    import pyarrow as pa

    if array.ndim > 1:
        flat = _arrow(array.reshape(-1, *array.shape[2:]))
        edges = numpy.arange(len(array) + 1, dtype="i4") * array.shape[1]
        return pa.ListArray.from_arrays(pa.array(edges), flat)
    if array.dtype.names:
        return pa.StructArray.from_arrays(
            [_arrow(array[name]) for name in array.dtype.names], list(array.dtype.names)
        )
    if array.dtype.kind == "V":
        return pa.array([item.tobytes() for item in array], pa.binary())
    if array.dtype.kind in "SU":
        return pa.array(array.tolist(), pa.binary() if array.dtype.kind == "S" else pa.string())
    if array.dtype.kind == "M":
        return pa.array(array.astype("M8[us]")).cast(pa.timestamp("us", "UTC"))
    return pa.array(numpy.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")))


def records_of(values: pa.Array, dtype: Any) -> tuple[Any, dict[int, str]]:
    """Return the records in a column of values, and those of a wrong size with the reason.

    A value of a wrong size, and NULL, becomes a record of zeros."""
    import numpy

    offsets = numpy.frombuffer(values.buffers()[1], dtype="i4")[
        values.offset : values.offset + len(values) + 1
    ]
    sizes = numpy.diff(offsets)
    fits = sizes == dtype.itemsize
    body = values.buffers()[2]
    if fits.all():
        return numpy.frombuffer(body, dtype, len(values), int(offsets[0])) if len(values) else numpy.empty(
            0, dtype
        ), {}
    records = numpy.zeros(len(values), dtype)
    bad: dict[int, str] = {}
    for row, start in enumerate(offsets[:-1]):
        if fits[row]:
            records[row] = numpy.frombuffer(body, dtype, 1, int(start))[0]
        elif values[row].is_valid:
            bad[row] = f"it has {sizes[row]} bytes, but a record of option {OPTION} has {dtype.itemsize}"
    return records, bad


def without_misfits(records: Any, bad: dict[int, str], schema: pa.Schema) -> tuple[Any, dict[int, str]]:
    """Return the records and the bad ones; records that do not convert to the schema become zeros and bad."""
    import numpy
    import pyarrow as pa

    records = records.copy()
    for row in range(len(records)):
        try:
            columns_of(records[row : row + 1], schema)
        except pa.ArrowException as error:
            bad[row] = f"it does not fit option valueSchema: {error}"
            records[row] = numpy.zeros(1, records.dtype)[0]
    return records, bad
