# SPDX-License-Identifier: Apache-2.0
"""The same rows four times: retained by a topic and by a typed one, as Parquet files that Spark wrote, and as Arrow IPC
files. The messages of the typed topic have the same bytes, as a field of 8 B each.

There are several Parquet files, so that every core has some whatever their row groups are, and a stream of them has
several batches.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

import slipring
from benchmarks.spark import arrow_files

BUS = "bench"
BATCH = 4096
TASKS = 2  # of a reading of the topic, and files of Arrow's
PARQUET_FILES = 8
TYPED_SIZES = (64,)  # eight fields; nobody has a hundred
SIX = ("topic", "offset", "timestamp", "sender", "type", "value")


@dataclass(frozen=True)
class Rows:
    """So many messages of so many bytes."""

    size: int
    count: int
    root: str
    files: str

    @property
    def topic(self) -> str:
        return f"rows-{self.size}"

    @property
    def typed(self) -> str:
        return f"{self.topic}-typed"

    @property
    def arrow(self) -> str:
        return f"{self.files}-arrow"

    def options(self, **more: str) -> dict[str, str]:
        return {"bus": BUS, "root": self.root, **more}


def make(spark: Any, size: int, count: int, root: Path, files: Path) -> Rows:
    rows = Rows(size, count, str(root), str(files / f"rows-{size}"))
    with slipring.Bus(BUS, root=root) as bus:
        slots = 1 << (count + count // 8).bit_length()
        capacity = 1 << (count * (size + 16)).bit_length()
        settings: Any = {"sender": "bench", "writers": "one", "capacity": capacity, "slots": slots}
        publisher = bus.publisher(rows.topic, **settings)
        for first in range(0, count, BATCH):
            some = range(first, min(first + BATCH, count))
            publisher.send_many([i.to_bytes(8, "little") * (size // 8) for i in some], type="bench.v1")
        publisher.close()
        if size in TYPED_SIZES:
            fields = numpy.dtype([(f"x{field}", "<f8") for field in range(size // 8)])
            with bus.publisher(rows.typed, schema=fields, **settings) as publisher:
                for first in range(0, count, BATCH):
                    numbers = numpy.arange(first, min(first + BATCH, count)).repeat(size // 8)
                    publisher.send_many(numbers.view(fields), type="bench.v1")
    everything = spark.read.format("slipring").options(**rows.options(subscribe=rows.topic))
    everything.option("minPartitions", str(PARQUET_FILES)).load().write.parquet(rows.files)
    spark.dataSource.register(arrow_files.ArrowFiles)
    arrow_files.write(rows.files, Path(rows.arrow), SIX, size, TASKS)
    return rows
