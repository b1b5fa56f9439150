# SPDX-License-Identifier: Apache-2.0
"""The fields of a schema as columns of Spark, with the types of `Schema.ddl`, and decoded columns in these types.

Spark has no unsigned integers, half floats and nanoseconds: the next larger type holds the first two, and moments and
durations are cut to microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from slipring.spark.decode import ddl

if TYPE_CHECKING:
    import pyarrow as pa

    from slipring._bus.schema.topic_schema import Schema


def columns_of(schema: Schema) -> T.StructType:
    """Return the columns of a schema; all of them are nullable."""
    return ddl.parse(schema.ddl)


def arrow_of(frame: T.StructType) -> pa.Schema:
    """Return the Arrow types in which Spark takes these columns."""
    found: pa.Schema = to_arrow_schema(frame, timezone="UTC")
    return found


def fitted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a decoded column in the type that Spark takes."""
    return column if column.type == kind else column.cast(kind, safe=False)
