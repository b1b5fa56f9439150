# SPDX-License-Identifier: Apache-2.0
"""The messages of a recording in the order of a replay: by time across topics, by sequence within a topic.

The two orders can contradict each other. Writers of a topic stamp their messages before they get a sequence, and a
forwarded message keeps its first stamp. Such a message is *late*: it is due together with the latest message before it
in its topic. Only late messages are looked up, by a join with few rows. The key of all others is their stamp, so bodies
are shuffled once.

Spark sorts into partitions of bounded size. They arrive in this process one after the other, as Arrow batches packed in
rows. So neither process holds more than a few partitions, however long the recording is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .range import Limits, Recorded

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import Column, DataFrame

PARTITION_BYTES = 16 << 20
PARTITION_ROWS = 100_000
_AT_ONCE = 256  # rows converted at once: more would delay the next message
_PER_MESSAGE = 100  # bytes of a message without its body, roughly
IN_A_RING = (
    "greatest(8, (bytes + 7) div 8 * 8 + (texts + 7) div 8 * 8)"  # docs/spec/memory-layout.md, "reserved"
)
COLUMNS = ("topic", "due_ns", "timestamp_ns", "sender", "type", "value")


class Extent(NamedTuple):
    """The size of a replay."""

    messages: int
    bytes: int
    first_ns: int
    last_ns: int
    late: int
    topics: Mapping[str, int]  # messages of each
    largest: Mapping[str, int]  # of each topic, the bytes of its largest message in a ring
    generations: Mapping[str, Sequence[int]]  # of each topic, those of its messages


def recorded_topics(rows: DataFrame) -> dict[str, Recorded]:
    """Return the topics of a lake's rows that have messages."""
    from pyspark.sql import functions as F

    found = (
        rows.where(
            "timestamp_ns IS NOT NULL"
        )  # a hole has no time; a condition on bodies would read all of them
        .groupBy("topic", "generation")
        .agg(F.min("timestamp_ns").alias("first_ns"), F.min("received_ns").alias("received_ns"))
        .collect()
    )
    found.sort(key=lambda row: (row.first_ns if row.received_ns is None else row.received_ns, row.first_ns))
    topics: dict[str, Recorded] = {}
    for row in found:
        before = topics.get(row.topic)
        generations = (*(before.generations if before else ()), row.generation)
        first_ns = min(row.first_ns, before.first_ns) if before else row.first_ns
        topics[row.topic] = Recorded(row.topic, generations, first_ns)
    return dict(sorted(topics.items()))


def cut(rows: DataFrame, chosen: Mapping[str, Recorded], start: Limits, end: Limits) -> DataFrame:
    """Return the messages of the chosen topics between the limits; ``rank`` numbers the generations of a topic."""
    from pyspark.sql import functions as F

    wanted = rows.where("value IS NOT NULL").where(F.col("topic").isin(list(chosen)))
    time, sequence = F.col("timestamp_ns"), F.col("offset")
    if start.time_ns is not None:
        wanted = wanted.where(time >= start.time_ns)
    if end.time_ns is not None:
        wanted = wanted.where(time < end.time_ns)
    for topic, first in start.sequences.items():
        wanted = wanted.where((F.col("topic") != topic) | (sequence >= first))
    for topic, behind in end.sequences.items():
        wanted = wanted.where((F.col("topic") != topic) | (sequence < behind))
    return _ranked(wanted, chosen.values())


def _ranked(rows: DataFrame, recorded: Iterable[Recorded]) -> DataFrame:
    from pyspark.sql import functions as F

    ranks = [
        (topic.topic, generation, rank)
        for topic in recorded
        for rank, generation in enumerate(topic.generations)
        if rank
    ]
    if not ranks:
        return rows.withColumn("rank", F.lit(0))
    table = rows.sparkSession.createDataFrame(ranks, "topic string, generation long, rank int")
    joined = rows.join(F.broadcast(table), ["topic", "generation"], "left")
    return joined.withColumn("rank", F.coalesce("rank", F.lit(0)))


def _due() -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql.window import Window

    before = Window.partitionBy("topic").orderBy("rank", "offset").rowsBetween(Window.unboundedPreceding, 0)
    return F.max("timestamp_ns").over(before)


def measure(rows: DataFrame) -> Extent:
    """Return the size of what ``cut`` selected, and how many messages are late."""
    from pyspark.sql import functions as F

    texts = F.octet_length(F.concat(F.coalesce("sender", F.lit("")), F.coalesce("type", F.lit(""))))
    body = F.octet_length("value").alias("bytes")
    columns = ("topic", "generation", "rank", "offset", "timestamp_ns")
    narrow = rows.select(*columns, body, texts.alias("texts"))
    found = (
        narrow.withColumn("due_ns", _due())
        .groupBy("topic")
        .agg(
            F.count("*").alias("messages"),
            F.sum("bytes").alias("bytes"),
            F.max(F.expr(IN_A_RING)).alias("largest"),
            F.min("due_ns").alias("first_ns"),
            F.max("due_ns").alias("last_ns"),
            F.count_if(F.col("due_ns") > F.col("timestamp_ns")).alias("late"),
            F.collect_set("generation").alias("generations"),
        )
        .collect()
    )
    return Extent(
        sum(row.messages for row in found),
        sum(row.bytes for row in found),
        min((row.first_ns for row in found), default=0),
        max((row.last_ns for row in found), default=0),
        sum(row.late for row in found),
        {row.topic: row.messages for row in sorted(found, key=lambda row: row.topic)},
        {row.topic: row.largest for row in found},
        {row.topic: row.generations for row in found},
    )


def ordered(rows: DataFrame, extent: Extent) -> DataFrame:
    """Return COLUMNS of what ``cut`` selected, sorted, in partitions of bounded size."""
    from pyspark.sql import functions as F

    if extent.late:
        key = ["topic", "rank", "offset"]
        keys = rows.select(*key, "timestamp_ns").withColumn("due_ns", _due())
        late = keys.where("due_ns > timestamp_ns").select(*key, "due_ns")
        rows = rows.join(late, key, "left").withColumn("due_ns", F.coalesce("due_ns", "timestamp_ns"))
    else:
        rows = rows.withColumn("due_ns", F.col("timestamp_ns"))
    size = extent.bytes + extent.messages * _PER_MESSAGE
    partitions = 1 + max(size // PARTITION_BYTES, extent.messages // PARTITION_ROWS)
    order = ["due_ns", "topic", "rank", "offset"]
    texts = {name: F.coalesce(name, F.lit("")) for name in ("sender", "type")}
    # defect replay_unordered: sorted_rows = rows.repartitionByRange(partitions, *order)
    sorted_rows = rows.repartitionByRange(partitions, *order).sortWithinPartitions(*order)
    return sorted_rows.withColumns(texts).select(*COLUMNS)


def packed(rows: DataFrame) -> DataFrame:
    """Pack a whole Arrow batch into each row: it crosses the socket to this process as fast as one row."""
    return rows.mapInArrow(_pack, "packed binary")


def _pack(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    for batch in batches:
        sink = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        body = pyarrow.array([sink.getvalue().to_pybytes()], pyarrow.binary())
        yield pyarrow.RecordBatch.from_arrays([body], ["packed"])


def unpack(body: bytes) -> Iterator[tuple[str, int, int, str, str, bytes]]:
    """Yield the rows of one packed batch, with COLUMNS."""
    import pyarrow

    for batch in pyarrow.ipc.open_stream(body):
        for first in range(0, batch.num_rows, _AT_ONCE):
            part = batch.slice(first, _AT_ONCE)
            yield from zip(*(part.column(name).to_pylist() for name in COLUMNS), strict=True)
