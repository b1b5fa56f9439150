# SPDX-License-Identifier: Apache-2.0
"""The fields of a schema as columns of Spark, and decoded columns in these types.

The types are those of `Schema.ddl`. Spark has no unsigned integers, half floats and nanoseconds: the next larger type
holds the first two, and moments and durations are cut to microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from slipring._bus.schema import field_types as kinds

if TYPE_CHECKING:
    import pyarrow as pa

    from slipring._bus.schema.topic_schema import Schema

_INTEGERS: dict[tuple[int, bool], T.DataType] = {
    (8, True): T.ByteType(),
    (16, True): T.ShortType(),
    (32, True): T.IntegerType(),
    (64, True): T.LongType(),
    (8, False): T.ShortType(),
    (16, False): T.IntegerType(),
    (32, False): T.LongType(),
    (64, False): T.DecimalType(20, 0),
}
_SIMPLE: dict[type[kinds.Type], T.DataType] = {
    kinds.Bool: T.BooleanType(),
    kinds.Text: T.StringType(),
    kinds.Bytes: T.BinaryType(),
    kinds.Timestamp: T.TimestampType(),
    kinds.Date: T.DateType(),
    kinds.Duration: T.DayTimeIntervalType(),
    kinds.Uuid: T.StringType(),
}


def columns_of(schema: Schema) -> T.StructType:
    """Return the columns of a schema; all of them are nullable."""
    return T.StructType([T.StructField(name, _type(kind)) for name, kind in schema.fields])


def _type(kind: kinds.Type) -> T.DataType:
    match kind:
        case kinds.Nullable(item=item):
            return _type(item)
        case kinds.Int(bits=bits, signed=signed):
            return _INTEGERS[bits, signed]
        case kinds.Float(bits=bits):
            return T.DoubleType() if bits == 64 else T.FloatType()
        case kinds.Decimal(precision=precision, scale=scale):
            return T.DecimalType(precision, scale)
        case kinds.Enum():
            return T.StringType() if kind.kind is str else T.LongType()
        case kinds.List(item=item) | kinds.Array(row=item):
            return T.ArrayType(_type(item))
        case kinds.Map(item=item):
            return T.MapType(T.StringType(), _type(item))
        case kinds.Struct(fields=fields):
            return T.StructType([T.StructField(each.name, _type(each.type)) for each in fields])
    return _SIMPLE[type(kind)]


def arrow_of(frame: T.StructType) -> pa.Schema:
    """Return the Arrow types in which Spark takes these columns."""
    found: pa.Schema = to_arrow_schema(frame, timezone="UTC")
    return found


def fitted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a decoded column in the type that Spark takes."""
    return column if column.type == kind else column.cast(kind, safe=False)
