# SPDX-License-Identifier: Apache-2.0
"""Read a recording with Spark: the schema of its rows, and a DataFrame of the files that the log names.

Bodies of typed topics are decoded by topics/decoding.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    DateType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from slipring.errors import BadArgument

from .topics.decoding import HEAD, MODES, decoded
from .topics.selection import select

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .lake import Lake
    from .model import File

_COLUMNS = {
    "topic": StringType(),
    "date": DateType(),
    "generation": LongType(),
    "offset": LongType(),
    "span": LongType(),
    "lost": LongType(),
    "timestamp": TimestampType(),
    "timestamp_ns": LongType(),
    "sender": StringType(),
    "type": StringType(),
    "value": BinaryType(),
    "host": StringType(),
    "received_ns": LongType(),
}
SCHEMA = StructType([StructField(name, kind) for name, kind in _COLUMNS.items()])
PARTITIONS = ("topic", "date")
STORED = [name for name in SCHEMA.names if name not in PARTITIONS]  # the others are in the path of a file


def read(
    lake: Lake,
    spark: SparkSession,
    topics: Iterable[str] | None,
    since_ns: int | None,
    until_ns: int | None,
    decode: bool,
    mode: str,
) -> DataFrame:
    """See Lake.read."""
    if mode not in MODES:
        raise BadArgument(f"mode={mode!r} must be one of {', '.join(MODES)}", argument="mode")
    lake.refresh()
    lake.roll_forward()
    wanted = None if topics is None else [topics] if isinstance(topics, str) else list(topics)
    files = lake.files(wanted, since_ns, until_ns)
    rows = _rows(lake, spark, files, since_ns, until_ns)
    if not decode:
        return rows
    selection = select(lake, files or lake.files(wanted))
    return decoded(rows, selection, mode) if selection else spark.createDataFrame([], HEAD)


def _rows(
    lake: Lake, spark: SparkSession, files: list[File], since_ns: int | None, until_ns: int | None
) -> DataFrame:
    paths: dict[str, list[str]] = {}
    for file in files:
        path = lake.held(file)  # a compaction may replace the file before Spark reads it
        paths.setdefault(str(path.parents[2]), []).append(str(path))
    if not paths:
        return spark.createDataFrame([], SCHEMA)
    parts = [
        spark.read.schema(SCHEMA).option("basePath", base).parquet(*some) for base, some in paths.items()
    ]
    found = reduce(DataFrame.union, (part.select(*SCHEMA.names) for part in parts))
    when = F.coalesce("timestamp_ns", "received_ns")
    if since_ns is not None:
        found = found.where(when >= since_ns)
    if until_ns is not None:
        found = found.where(when < until_ns)
    return found
