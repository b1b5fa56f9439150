# SPDX-License-Identifier: Apache-2.0
"""The columns of a DataFrame: the message's own, as option columns picks them, then those decoded from its
value."""

from __future__ import annotations

from pyspark.sql import types as T

from ..decode import ddl, numpy_values
from ..errors import BadOption
from .options import SourceOptions

COLUMNS: dict[str, T.DataType] = {
    "topic": T.StringType(),
    "offset": T.LongType(),
    "timestamp": T.TimestampType(),
    "timestamp_ns": T.LongType(),
    "sender": T.StringType(),
    "type": T.StringType(),
    "value": T.BinaryType(),
    "host": T.StringType(),
    "generation": T.LongType(),
    "span": T.LongType(),
    "lost": T.LongType(),
    "received_ns": T.LongType(),
}


def of_message(options: SourceOptions) -> T.StructType:
    return T.StructType([T.StructField(name, COLUMNS[name], True) for name in options.columns])


def of_value(options: SourceOptions) -> T.StructType | None:
    """The columns decoded from the value; None: it is not decoded."""
    if options.value_format is None:
        return None
    if options.value_schema is None:
        if options.value_format == "numpy":
            return numpy_values.schema_of(numpy_values.dtype_of(options.value_dtype))
        raise BadOption("valueSchema", 'it is missing: name the columns, such as "x DOUBLE, y DOUBLE"')
    try:
        schema = ddl.parse(options.value_schema)
    except ddl.BadSchema as error:
        raise BadOption("valueSchema", str(error)) from None
    if not schema.fields:
        raise BadOption("valueSchema", "it names no column")
    return schema


def of_frame(options: SourceOptions) -> T.StructType:
    """What Spark is told; decoded columns come last."""
    message, value = of_message(options), of_value(options)
    fields = [*message.fields, *(value.fields if value else [])]
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in seen:
            why = f"there are two columns {field.name}: rename one, or leave the other out by option columns"
            raise BadOption("valueSchema", why)
        seen.add(field.name.lower())
    return T.StructType(fields)
