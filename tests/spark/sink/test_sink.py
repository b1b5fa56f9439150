# SPDX-License-Identifier: Apache-2.0
"""The sink with a real Spark: every row once, in order of partition, after any retry or kill (promise 30)."""

import os
import signal

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import StreamingQueryException

from spark import PATIENCE_S
from spark.sink.file_batches import RING, ROWS, check, read_until, ring_is_full, start, write_files
from support.waiting import eventually

pytestmark = pytest.mark.timeout(900)


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


def test_no_room_within_the_timeout_fails_the_query_and_a_restart_continues(spark, bus, tmp_path):
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
    """Return a function for mapInArrow that yields some rows and raises, or kills the worker of partition `killed`."""

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


def test_failed_and_killed_tasks_are_retried_and_their_rows_appear_once(spark, bus):
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


def test_columns_give_topic_type_and_sender_of_each_row(spark, bus):
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
