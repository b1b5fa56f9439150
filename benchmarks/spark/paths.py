# SPDX-License-Identifier: Apache-2.0
"""Ways through Spark. Each is timed from the call to its end, so that both sides pay for planning."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import slipring
from benchmarks.spark.rows import BUS, SIX, TASKS, TYPED_SIZES, Rows


def _topic(spark: Any, rows: Rows, columns: tuple[str, ...]) -> Any:
    reading = spark.read.format("slipring").options(
        **rows.options(subscribe=rows.topic, columns=",".join(columns))
    )
    return reading.option("minPartitions", str(TASKS)).load()


def _typed(spark: Any, rows: Rows) -> Any:
    fields = ",".join(f"x{field}" for field in range(rows.size // 8))
    reading = spark.read.format("slipring").options(**rows.options(subscribe=rows.typed, columns=fields))
    return reading.option("minPartitions", str(TASKS)).load()


def _files(spark: Any, rows: Rows, columns: tuple[str, ...]) -> Any:
    return spark.read.parquet(rows.files).select(*columns)


def _arrow(spark: Any, rows: Rows, columns: tuple[str, ...]) -> Any:
    return spark.read.format("arrow_files").options(path=rows.arrow, columns=",".join(columns)).load()


def _to_nothing(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _to_files(frame: Any, rows: Rows) -> None:
    target = Path(rows.files).with_name("copied")
    frame.write.mode("overwrite").parquet(str(target))
    shutil.rmtree(target)


def _to_topic(frame: Any, rows: Rows) -> None:
    with slipring.Bus(BUS, root=rows.root) as bus:
        bus.create("sunk", capacity="64MiB", delivery="lossy")
        try:
            frame.write.format("slipring").options(**rows.options(topic="sunk")).mode("append").save()
        finally:
            bus.remove("sunk")


PATHS: dict[str, Callable[[Any, Rows], None]] = {
    "value to nothing: topic": lambda spark, rows: _to_nothing(_topic(spark, rows, ("value",))),
    "fields to nothing: topic": lambda spark, rows: _to_nothing(_typed(spark, rows)),
    "value to nothing: Parquet": lambda spark, rows: _to_nothing(_files(spark, rows, ("value",))),
    "value to nothing: Arrow IPC": lambda spark, rows: _to_nothing(_arrow(spark, rows, ("value",))),
    "six columns to nothing: topic": lambda spark, rows: _to_nothing(_topic(spark, rows, SIX)),
    "six columns to nothing: Parquet": lambda spark, rows: _to_nothing(_files(spark, rows, SIX)),
    "six columns to nothing: Arrow IPC": lambda spark, rows: _to_nothing(_arrow(spark, rows, SIX)),
    "six columns to Parquet: topic": lambda spark, rows: _to_files(_topic(spark, rows, SIX), rows),
    "six columns to Parquet: Parquet": lambda spark, rows: _to_files(_files(spark, rows, SIX), rows),
    "six columns to Parquet: Arrow IPC": lambda spark, rows: _to_files(_arrow(spark, rows, SIX), rows),
    "value to a topic: Parquet": lambda spark, rows: _to_topic(_files(spark, rows, ("value",)), rows),
    "value to a topic: topic": lambda spark, rows: _to_topic(_topic(spark, rows, ("value",)), rows),
}
# what is asked of ours, against Spark's own
BARS = (
    ("fields to nothing: topic", "value to nothing: topic", 0.7),
    ("value to nothing: topic", "value to nothing: Parquet", 0.7),
    ("value to nothing: topic", "value to nothing: Arrow IPC", 0.7),
    ("six columns to Parquet: topic", "six columns to Parquet: Parquet", 0.7),
)


def of(size: int) -> list[str]:
    """Return the ways of rows of this size."""
    return [path for path in PATHS if size in TYPED_SIZES or not path.startswith("fields")]


def rate(path: str, spark: Any, rows: Rows) -> float:
    """Rows a second."""
    begun = time.perf_counter()
    PATHS[path](spark, rows)
    return rows.count / (time.perf_counter() - begun)
