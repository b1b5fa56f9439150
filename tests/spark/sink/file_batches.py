# SPDX-License-Identifier: Apache-2.0
"""Streams of files into a topic: one micro-batch per file; each row must appear once, in order of partition.

The tasks shuffle their rows at random. So a batch that Spark computes again has another order, and the topic must have
the rows of one computation only.
"""

import os

import pyarrow as pa
import pyarrow.parquet

from spark import PATIENCE_S

ROWS = 60  # of a file, and so of a micro-batch
RING = {"delivery": "reliable", "capacity": "64KiB", "slots": 16}


def write_files(directory, count: int):
    """Write Parquet files of ROWS rows, one for each micro-batch."""
    directory.mkdir()
    for number in range(count):
        path = directory / f"{number}.parquet"
        values = [f"{number}:{row}".encode() for row in range(ROWS)]
        pa.parquet.write_table(pa.table({"value": values}), path)
        os.utime(path, (number + 1, number + 1))  # Spark takes them in order of time
    return directory


def shuffled():
    """Return a function for mapInArrow that shuffles rows and marks them with partition and position."""

    def shuffle(batches):
        import random

        import pyarrow
        from pyspark import TaskContext

        rows = [value.decode() for batch in batches for value in batch.column(0).to_pylist()]
        random.shuffle(rows)
        partition = TaskContext.get().partitionId()
        marked = [f"{partition}:{place}:{row}".encode() for place, row in enumerate(rows)]
        yield pyarrow.record_batch({"value": pyarrow.array(marked, pyarrow.binary())})

    return shuffle


def start(spark, source, bus, checkpoint, **options):
    rows = spark.readStream.schema("value binary").option("maxFilesPerTrigger", 1).parquet(str(source))
    writer = rows.repartition(2).mapInArrow(shuffled(), "value binary").writeStream.format("slipring")
    writer = writer.options(bus=bus.name, root=bus.root, topic="out", **options)
    return writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()


def read_until(sub, count: int, got: list[str]) -> None:
    while len(got) < count:
        batch = sub.recv_many(count - len(got), timeout=PATIENCE_S)
        assert batch, f"nothing more after {len(got)} rows"
        got += [msg.body.decode() for msg in batch]


def check(got: list[str], files: int) -> None:
    """Check that the rows of each file appear once, by partition, in the order of one computation."""
    assert len(got) == files * ROWS
    for number in range(files):
        rows = [row.split(":") for row in got[number * ROWS : (number + 1) * ROWS]]
        assert {(file, row) for _, _, file, row in rows} == {(str(number), str(row)) for row in range(ROWS)}
        places = [(int(partition), int(place)) for partition, place, *_ in rows]
        assert places == sorted(places) and len({partition for partition, _ in places}) == 2
        assert all(place == 0 or (partition, place - 1) in places for partition, place in places)


def ring_is_full(bus, read: int):
    """Return the publisher's process when it waits for room in the middle of its batch."""
    stats = bus.stats("out")
    alive = [entry["pid"] for entry in stats["publishers"] if entry["alive"]]
    return alive if stats["tail"] - stats["abandoned"] == read + 15 else None
