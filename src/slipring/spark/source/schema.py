# SPDX-License-Identifier: Apache-2.0
"""The columns of a DataFrame: those of the message that option columns names, then those decoded from its value."""

from __future__ import annotations

from pyspark.sql import types as T

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


def of_frame(options: SourceOptions) -> T.StructType:
    """Return the columns for Spark; decoded columns come last."""
    values = [] if options.values is None else options.values.columns().fields
    fields = [*of_message(options).fields, *values]
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in seen:
            why = (
                f"there are two columns {field.name}: rename one, or leave the other out with option columns"
            )
            raise BadOption("valueSchema", why)
        seen.add(field.name.lower())
    return T.StructType(fields)
