# SPDX-License-Identifier: Apache-2.0
"""The source in a real Spark: wrong options, decoding, limits, loss, replaced topics, and an old checkpoint."""

import json
import shutil
from pathlib import Path

import numpy
import pytest

import slipring
from support.waiting import eventually

pytestmark = pytest.mark.timeout(400)
FIXTURE = Path(__file__).parent / "checkpoint-v1"


@pytest.fixture
def stream(spark, bus):
    def make(**options):
        given = {"bus": bus.name, "root": bus.root, "startingOffsets": "earliest", **options}
        return spark.readStream.format("slipring").options(**given).load()

    return make


@pytest.fixture
def frame(spark, bus):
    def make(**options):
        return spark.read.format("slipring").options(bus=bus.name, root=bus.root, **options).load()

    return make


class Collected:
    """A sink that collects rows by batch: writing a batch again replaces it."""

    def __init__(self, checkpoint) -> None:
        self.batches, self._checkpoint = {}, str(checkpoint)

    def __call__(self, batch, number) -> None:
        self.batches[number] = [row.asDict() for row in batch.collect()]

    def start(self, stream, **trigger):
        writer = stream.writeStream.foreachBatch(self).option("checkpointLocation", self._checkpoint)
        return writer.trigger(**(trigger or {"availableNow": True})).start()

    def run(self, stream) -> None:
        """Return all rows that are present now."""
        self.start(stream).awaitTermination()

    @property
    def rows(self) -> list[dict]:
        return [row for number in sorted(self.batches) for row in self.batches[number]]

    @property
    def offsets(self) -> list[int]:
        return [row["offset"] for row in self.rows]


@pytest.fixture
def collected(tmp_path):
    return Collected(tmp_path / "checkpoint")


def why_it_stopped(query) -> str:
    eventually(lambda: not query.isActive, "the query stopping")
    return str(query.exception())


def test_wrong_options_fail_when_the_dataframe_is_made(spark, bus, stream, frame):
    from pyspark.errors import AnalysisException

    bus.create("imu")
    with pytest.raises(AnalysisException, match=r"option subscrib: .* did you mean subscribe"):
        stream(subscrib="imu")
    with pytest.raises(AnalysisException, match="option subscribe: there is no topic 'nobody' on bus 'test'"):
        frame(subscribe="nobody")
    with pytest.raises(AnalysisException, match="option columns: there is no column key"):
        stream(subscribe="imu", columns="key")
    with pytest.raises(Exception, match="option groupId: it is for streams"):
        frame(subscribe="imu", groupId="g").collect()


def test_decoded_columns_and_those_of_the_message_reach_sql(spark, bus, frame):
    dtype = numpy.dtype([("x", "<f4"), ("position", "<f8", (3,)), ("n", "<u2")])
    publisher = bus.publisher("imu", sender="gyro")
    for n in range(1000):
        publisher.send(numpy.array((n / 2, (n, n, n), n), dtype).tobytes(), type=f"v{n % 2}")
    found = frame(subscribe="imu", valueFormat="numpy", valueDtype=repr(dtype.descr), minPartitions="3")
    found.createOrReplaceTempView("imu")
    rows = spark.sql(
        "select type, count(*) as n, sum(x) as x, max(position[2]) as z, min(timestamp) > '2020-01-01' as ok "
        "from imu where sender = 'gyro' and n >= 500 group by type order by type"
    ).collect()
    assert [tuple(row) for row in rows] == [
        ("v0", 250, sum(n / 2 for n in range(500, 1000, 2)), 998.0, True),
        ("v1", 250, sum(n / 2 for n in range(501, 1000, 2)), 999.0, True),
    ]
    everything = frame(
        subscribe="imu",
        columns="topic,offset,timestamp,timestamp_ns,sender,type,value,host,generation,span,lost,received_ns",
    )
    assert everything.count() == 1000 and len(everything.first()) == 12
    with pytest.raises(Exception, match="offset 0 of topic 'imu' does not decode"):
        frame(subscribe="imu", valueFormat="json", valueSchema="x INT").collect()


def test_several_topics_new_topics_limits_and_progress(spark, bus, stream, collected):
    bus.publisher("lossy.a").send_many([b"a"] * 10)
    kept = bus.publisher("kept.b", delivery="reliable")
    kept.send_many([b"b"] * 10)
    options = {"groupId": "g", "maxOffsetsPerTrigger": "8", "minPartitions": "4"}
    query = collected.start(stream(subscribePattern=".*", **options), processingTime="0 seconds")
    eventually(lambda: len(collected.rows) >= 20 or not query.isActive, "all rows")
    bus.publisher("late.c").send_many([b"c"] * 3)
    eventually(lambda: len(collected.rows) >= 23 or not query.isActive, "the rows of the new topic")
    query.stop()
    assert query.exception() is None
    assert max(map(len, collected.batches.values())) <= 8
    found = sorted((row["topic"], row["offset"]) for row in collected.rows)
    expected = [("kept.b", n) for n in range(10)] + [("late.c", n) for n in range(3)]
    assert found == expected + [("lossy.a", n) for n in range(10)]
    source = query.recentProgress[0]["sources"][0]
    assert json.loads(source["latestOffset"])["topics"]["lossy.a"]["next"] == 10
    assert json.loads(source["endOffset"])["topics"]["lossy.a"]["next"] < 10


def test_loss_stops_the_query_or_is_counted(spark, bus, stream, collected, tmp_path):
    publisher = bus.publisher("imu", capacity=4096, slots=16)
    publisher.send_many([b"x"] * 5)
    collected.run(stream(subscribe="imu"))
    publisher.send_many([b"y"] * 100)
    query = collected.start(stream(subscribe="imu"))
    assert "of [5, 105) of topic 'imu' were overwritten unread" in why_it_stopped(query)
    query = collected.start(stream(subscribe="imu", failOnDataLoss="false"), processingTime="0 seconds")
    oldest = bus.stats("imu")["oldest"]
    eventually(lambda: 1 in collected.batches, "what is left")
    publisher.send(b"z")
    eventually(lambda: len(collected.rows) == 5 + 105 - oldest + 1, "what comes after")
    publisher.send(b"z")  # the report of a batch includes the batches before it
    eventually(lambda: len(collected.rows) == 5 + 105 - oldest + 2, "what comes after")
    query.stop()
    assert collected.offsets == [*range(5), *range(oldest, 107)]
    assert json.loads(query.lastProgress["sources"][0]["latestOffset"])["lost"] == {"imu": oldest - 5}


def test_a_batch_of_a_whole_reliable_ring_does_not_stop_the_publisher_forever(
    spark, bus, stream, collected, background
):
    publisher = bus.publisher("big", delivery="reliable", capacity="16MiB")
    bus.subscriber("big", cursor="g", start="oldest").close()
    body, filled = bytes(1_000_000), 0
    with pytest.raises(slipring.Full):
        while True:
            publisher.send(body, timeout=0)
            filled += 1
    rest = background(lambda: [publisher.send(body, timeout=None) for _ in range(2 * filled)])
    columns = stream(subscribe="big", groupId="g", columns="offset")
    query = collected.start(columns, processingTime="0 seconds")
    eventually(lambda: len(collected.rows) == 3 * filled or not query.isActive, "all messages")
    query.stop()
    assert collected.offsets == list(range(3 * filled))
    rest.result()


def test_a_replaced_topic_is_named_and_the_stream_may_continue_with_it(spark, bus, stream, collected):
    bus.publisher("cmd", delivery="reliable").send_many([b"old"] * 5)
    options = {"subscribe": "cmd", "groupId": "g"}
    collected.run(stream(**options))
    bus.remove("cmd")
    bus.publisher("cmd", delivery="reliable").send_many([b"new"] * 3)
    assert "topic 'cmd' was removed, re-created, or its host rebooted" in why_it_stopped(
        collected.start(stream(**options))
    )
    collected.run(stream(**options, failOnDataLoss="false"))
    assert [bytes(row["value"]) for row in collected.rows] == [b"old"] * 5 + [b"new"] * 3


def test_a_checkpoint_of_version_1_still_loads(spark, bus, stream, collected, tmp_path):
    """The checkpoint of a query stopped in batch 1: messages 0 to 3 are committed, 4 to 7 logged, 8 and 9 new."""
    publisher = bus.publisher("cmd", delivery="reliable")
    publisher.send_many([b"%d" % n for n in range(10)])
    generation = f"{bus.stats('cmd')['generation']:016x}"
    shutil.copytree(FIXTURE, tmp_path / "checkpoint")
    for path in (tmp_path / "checkpoint" / "offsets").iterdir():
        path.write_text(path.read_text().replace("@generation@", generation))
    collected.run(stream(subscribe="cmd", groupId="g", maxOffsetsPerTrigger="100"))
    assert {number: [row["offset"] for row in rows] for number, rows in collected.batches.items()} == {
        1: [4, 5, 6, 7],
        2: [8, 9],
    }
