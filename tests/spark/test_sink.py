# SPDX-License-Identifier: Apache-2.0
"""The sink with a real Spark: every row once, in order of partition, whatever is retried or killed
(promise 30).

The tasks of these jobs shuffle their rows at random, so that a batch that Spark computes again comes out in
another order: what is on the topic must still be one computation, whole.
"""

import os
import signal

import pyarrow as pa
import pyarrow.parquet
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import StreamingQueryException

from support.waiting import eventually

pytestmark = pytest.mark.timeout(900)
PATIENCE_S = 240  # with a machine that has other things to do too; a watchdog, no promise
ROWS = 60  # of a file, and so of a micro-batch
RING = {"delivery": "reliable", "capacity": "64KiB", "slots": 16}


def write_files(directory, count: int):
    """Parquet files of ROWS rows, one for each micro-batch."""
    directory.mkdir()
    for number in range(count):
        path = directory / f"{number}.parquet"
        values = [f"{number}:{row}".encode() for row in range(ROWS)]
        pa.parquet.write_table(pa.table({"value": values}), path)
        os.utime(path, (number + 1, number + 1))  # Spark takes them in order of time
    return directory


def shuffled():
    """For mapInArrow: rows in a random order, marked with their partition and place in it."""

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
    """Each file's rows once; in each, partitions in order, and a partition's rows as they were computed."""
    assert len(got) == files * ROWS
    for number in range(files):
        rows = [row.split(":") for row in got[number * ROWS : (number + 1) * ROWS]]
        assert {(file, row) for _, _, file, row in rows} == {(str(number), str(row)) for row in range(ROWS)}
        places = [(int(partition), int(place)) for partition, place, *_ in rows]
        assert places == sorted(places) and len({partition for partition, _ in places}) == 2
        assert all(place == 0 or (partition, place - 1) in places for partition, place in places)


def ring_is_full(bus, read: int):
    """The publisher can go no further than a ring beyond what was read: it is in the middle of its batch."""
    stats = bus.stats("out")
    alive = [entry["pid"] for entry in stats["publishers"] if entry["alive"]]
    return alive if stats["tail"] - stats["abandoned"] == read + 15 else None


def test_committing_processes_killed_in_the_middle_of_batches_leave_every_row_once(spark, bus, tmp_path):
    source, checkpoint = write_files(tmp_path / "in", 3), tmp_path / "checkpoint"
    bus.create("out", **RING)
    sub, got = bus.subscriber("out"), []
    for read in (33, ROWS, 2 * ROWS + 30):
        query = start(spark, source, bus, checkpoint)
        read_until(sub, read, got)
        (pid,) = eventually(lambda at=read: ring_is_full(bus, at), "a full ring", PATIENCE_S)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(StreamingQueryException):
            query.awaitTermination(PATIENCE_S)
    query = start(spark, source, bus, checkpoint)
    read_until(sub, 3 * ROWS, got)
    assert query.awaitTermination(PATIENCE_S)
    assert sub.recv(0) is None
    check(got, 3)


def test_no_room_within_the_timeout_fails_the_query_and_a_restart_goes_on(spark, bus, tmp_path):
    source, checkpoint = write_files(tmp_path / "in", 1), tmp_path / "checkpoint"
    bus.create("out", **RING)
    sub, got = bus.subscriber("out"), []
    with pytest.raises(StreamingQueryException, match=r"no room on topic 'out' within timeout=0.1 s"):
        start(spark, source, bus, checkpoint, timeout="0.1").awaitTermination(PATIENCE_S)
    query = start(spark, source, bus, checkpoint)
    read_until(sub, ROWS, got)
    assert query.awaitTermination(PATIENCE_S) and sub.recv(0) is None
    check(got, 1)


def failing(attempts: int, killed: int = -1):
    """For mapInArrow: gives some rows and raises; in the killed partition, the worker is killed."""

    def fail(batches):
        import os
        import signal

        from pyspark import TaskContext

        task = TaskContext.get()
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            if task.attemptNumber() < attempts:
                if task.partitionId() == killed:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise RuntimeError("the task fails")
            yield batch.slice(batch.num_rows // 2)

    return fail


def test_tasks_that_fail_or_are_killed_are_tried_again_and_their_rows_appear_once(spark, bus):
    frame = spark.range(0, 3000, 1, 3).selectExpr("cast(cast(id as string) as binary) as value")
    frame.mapInArrow(failing(1, killed=1), "value binary").write.format("slipring").mode("append").options(
        bus=bus.name, root=bus.root, topic="out"
    ).save()
    rows = [int(msg.body) for msg in bus.subscriber("out", start="oldest").recv_many(10_000)]
    assert rows == list(range(3000))


def test_a_job_that_fails_publishes_nothing_and_leaves_nothing(spark, bus):
    frame = spark.range(0, 300, 1, 2).selectExpr("cast(cast(id as string) as binary) as value")
    writer = frame.mapInArrow(failing(99), "value binary").write.format("slipring").mode("append")
    bus.create("out")
    with pytest.raises((PySparkException, Py4JJavaError), match="the task fails"):
        writer.options(bus=bus.name, root=bus.root, topic="out").save()
    assert bus.stats("out")["tail"] == 0
    too_large = spark.range(0, 20, 1, 2).selectExpr("repeat('x', if(id = 19, 5000, 10)) as value")
    with pytest.raises((PySparkException, Py4JJavaError), match="more than its capacity of 4096"):
        too_large.write.format("slipring").mode("append").options(
            bus=bus.name, root=bus.root, topic="small", capacity="4096"
        ).save()
    assert bus.stats("small")["tail"] == 0
    assert bus.doctor() == []


def test_columns_say_topic_type_and_sender_of_each_row(spark, bus):
    frame = spark.createDataFrame(
        [("a", "x", "ann", "1"), ("b", None, None, "2"), ("a", "y", None, "ü")],
        "topic string, type string, sender string, value string",
    )
    options = {"bus": bus.name, "root": bus.root, "delivery": "reliable", "capacity": "1MiB"}
    frame.coalesce(1).write.format("slipring").mode("append").options(**options).save()
    got = {}
    for topic in "ab":
        messages = bus.subscriber(topic, start="oldest").recv_many(9)
        got[topic] = [(msg.type, msg.sender, msg.body.decode()) for msg in messages]
    assert got == {"a": [("x", "ann", "1"), ("y", "", "ü")], "b": [("", "", "2")]}
    assert {bus.stats(topic)["delivery"] for topic in "ab"} == {"reliable"}


def test_a_version_of_an_application_is_published_once(spark, bus):
    frame = spark.createDataFrame([("1",), ("2",)], "value string").coalesce(1)
    for version in (3, 3, 4, 3):
        frame.write.format("slipring").mode("append").options(
            bus=bus.name, root=bus.root, topic="out", txnAppId="nightly", txnVersion=version
        ).save()
    assert [msg.body for msg in bus.subscriber("out", start="oldest").recv_many(99)] == [b"1", b"2"] * 2


@pytest.mark.parametrize(
    ("mode", "options", "error"),
    [
        ("overwrite", {"topic": "out"}, "cannot be overwritten"),
        ("append", {"topci": "out"}, "option 'topci'"),
    ],
)
def test_wrong_use_is_an_error_before_a_task_runs(spark, bus, mode, options, error):
    frame = spark.createDataFrame([("1",)], "value string")
    with pytest.raises(PySparkException, match=error):
        frame.write.format("slipring").mode(mode).options(bus=bus.name, root=bus.root, **options).save()
    assert bus.topics() == []
