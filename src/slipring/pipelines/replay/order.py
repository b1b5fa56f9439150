# SPDX-License-Identifier: Apache-2.0
"""The messages of a recording in the order of a replay: by time across topics, by sequence within a topic.

The two can contradict each other: writers of one topic stamp their messages before they get their sequence,
and a message that was passed on keeps its first stamp. Such a message is *late*: it is due when the latest
of those before it in its topic is. Only late messages are looked up (a join with few rows); for all others
the stamp is the key, so that bodies are shuffled once.

Spark sorts into partitions of bounded size, and they come to this process one after the other, as Arrow
batches packed in rows: neither process ever holds more than a few partitions, however long the recording
is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from .range import Limits, Recorded

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import Column, DataFrame

PARTITION_BYTES = 16 << 20
PARTITION_ROWS = 100_000
_AT_ONCE = 256  # rows that become Python's: more would hold up the next message for longer
_PER_MESSAGE = 100  # bytes a message has beside its body, roughly
IN_A_RING = (
    "greatest(8, (bytes + 7) div 8 * 8 + (texts + 7) div 8 * 8)"  # docs/spec/memory-layout.md, "reserved"
)
COLUMNS = ("topic", "due_ns", "timestamp_ns", "sender", "type", "value")


class Extent(NamedTuple):
    """What there is to replay."""

    messages: int
    bytes: int
    first_ns: int
    last_ns: int
    late: int
    topics: Mapping[str, int]  # messages of each
    largest: Mapping[str, int]  # of each topic, the bytes of its largest message in a ring


def survey(rows: DataFrame) -> dict[str, Recorded]:
    """The topics of a lake's rows that have messages."""
    from pyspark.sql import functions as F

    found = (
        rows.where("timestamp_ns IS NOT NULL")  # a hole has no time; asking for bodies would read them all
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
    """The chosen topics' messages between the limits; ``rank`` counts the generations of a topic."""
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
    """How much ``cut`` left, and how many messages are late."""
    from pyspark.sql import functions as F

    texts = F.octet_length(F.concat(F.coalesce("sender", F.lit("")), F.coalesce("type", F.lit(""))))
    body = F.octet_length("value").alias("bytes")
    narrow = rows.select("topic", "rank", "offset", "timestamp_ns", body, texts.alias("texts"))
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
    )


def ordered(rows: DataFrame, extent: Extent) -> DataFrame:
    """COLUMNS of what ``cut`` left, sorted, in partitions of bounded size."""
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
    """The same rows, a whole Arrow batch in each: many cross the socket to this process as fast as one."""
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
    """The rows of one packed batch, as COLUMNS has them."""
    import pyarrow

    for batch in pyarrow.ipc.open_stream(body):
        for first in range(0, batch.num_rows, _AT_ONCE):
            part = batch.slice(first, _AT_ONCE)
            yield from zip(*(part.column(name).to_pylist() for name in COLUMNS), strict=True)
