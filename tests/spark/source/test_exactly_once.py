# SPDX-License-Identifier: Apache-2.0
"""Promise 28: every message is read once, in sequence, when any process is killed at any moment and restarted."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from spark import PATIENCE_S
from spark.moments import Moments
from spark.source import spark_processes
from support import tiers
from support.waiting import eventually

PER_BATCH = 150
EVERY_MOMENT = {"processingTime": "0 seconds"}
PUBLISHER = """
import struct
publisher = bus.publisher("cmd", sender="killed", capacity=1 << 16, slots=512, delivery="reliable")
say("ready")
number = 0
while True:
    publisher.send(struct.pack("q", number) * 4)
    number += 1
"""


class Truth:
    """All published messages, from a separate reader."""

    def __init__(self, bus) -> None:
        self._bus, self._seen = bus, False
        bus.create("cmd", capacity=1 << 16, slots=512, delivery="reliable")
        self._subscriber = bus.subscriber("cmd", cursor="truth", start="oldest")
        self.rows: list[tuple[int, bytes]] = []

    def query_has_its_cursor(self) -> bool:
        self._seen = self._seen or any(cursor["name"] == "query" for cursor in self._bus.cursors("cmd"))
        return self._seen

    def take(self) -> None:
        if not self.query_has_its_cursor():
            return  # until then this cursor keeps the messages for the query
        self.rows += [(message.seq, message.body) for message in self._subscriber.recv_many(1000)]
        self._subscriber.commit()


class Publishers:
    """A publisher that the test kills and restarts."""

    def __init__(self, processes) -> None:
        self._processes, self._one = processes, None

    def kill_and_restart(self) -> None:
        self.kill()
        self._one = self._processes.start(PUBLISHER)
        self._one.expect("ready")

    def kill(self) -> None:
        if self._one is not None:
            self._one.kill()


@pytest.fixture
def truth(bus):
    return Truth(bus)


@pytest.fixture
def publishers(processes):
    return Publishers(processes)


@pytest.fixture
def moments(tmp_path):
    return Moments(tmp_path)


def options_of(bus):
    return {
        "bus": bus.name,
        "root": bus.root,
        "subscribe": "cmd",
        "groupId": "query",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(PER_BATCH),
        "minPartitions": "2",
    }


def start(spark, bus, moments, **trigger):
    """Start a query; try again if a Python process exceeds its 10 s for starting, as on a busy machine."""
    stream = spark.readStream.format("slipring").options(**options_of(bus)).load()
    writer = stream.writeStream.foreachBatch(moments.writer()).trigger(**(trigger or EVERY_MOMENT))
    query = writer.option("checkpointLocation", str(moments.checkpoint)).start()

    def begun():
        return not query.isActive or not query.status["message"].startswith("Initializing")

    eventually(begun, "the query", PATIENCE_S)
    if query.exception() is not None and "failed to connect back" in str(query.exception()):
        return start(spark, bus, moments, **trigger)
    return query


def assert_everything_once(spark, bus, moments, truth, publishers):
    """End publishing, read the rest, and compare row by row."""
    publishers.kill()
    start(spark, bus, moments, availableNow=True).awaitTermination()
    truth.take()
    found = spark.read.parquet(*map(str, moments.out.glob("*"))).orderBy("offset").collect()
    assert [(row.offset, bytes(row.value)) for row in found] == truth.rows
    assert len(truth.rows) > PER_BATCH * moments.batches() / 4


def run_to(spark, bus, moments, moment, number):
    """Start the query and return it when a batch has reached a moment."""
    if moment != "committed":
        moments.arm(moment, number)
    query = start(spark, bus, moments)
    moments.wait(moment, number, lambda: query.isActive)
    return query


def fails_after_its_source_process(spark, query, truth):
    (victim,) = spark_processes.source_processes(spark_processes.jvm(spark))
    os.kill(victim, signal.SIGKILL)
    return lambda: not query.isActive or truth.take()


DRIVER = """
import sys
sys.path.insert(0, tests)
import slipring.spark
from pathlib import Path
from spark.moments import Moments
from spark.source import spark_processes, test_exactly_once

spark = slipring.spark.session("driver", master="local[2,4]", **settings)
say(spark_processes.jvm(spark))
query = test_exactly_once.start(spark, bus, Moments(Path(folder)))
query.awaitTermination()
"""
TESTS = str(Path(__file__).parents[2])
# "cursor": before the first offset is logged.
DRIVER_KILLS = tiers.kills(
    (("cursor", 0), ("logged", 0), ("running", 1), ("written", 2), ("committed", 4)),
    (("logged", 0), ("written", 2)),
)


@pytest.mark.timeout(900)
def test_every_message_is_read_once_when_the_driver_dies(
    spark, fast_spark, bus, processes, truth, publishers, moments, tmp_path
):
    """Kill a new driver process and its JVM each time; the processes that Spark started end by themselves."""

    def killed_at(reached):
        driver = processes.start(DRIVER, tests=TESTS, settings=fast_spark, folder=str(tmp_path))
        jvm = driver.hear()
        try:
            eventually(lambda: truth.take() or reached() or not driver.alive, "the moment", PATIENCE_S)
            assert driver.alive, driver.stderr
        finally:
            os.kill(jvm, signal.SIGKILL)
            driver.kill()
        moments.release()
        publishers.kill_and_restart()

    publishers.kill_and_restart()
    for moment, number in DRIVER_KILLS:
        if moment not in ("cursor", "committed"):
            moments.arm(moment, number)
        reached = partial(moments.reached, moment, number)
        killed_at(truth.query_has_its_cursor if moment == "cursor" else reached)
    assert_everything_once(spark, bus, moments, truth, publishers)


def test_a_driver_killed_while_writing_its_first_offsets_can_be_restarted(
    spark, bus, truth, publishers, moments
):
    """Spark by itself refuses: it finds the temporary file and takes the checkpoint for that of another query."""
    publishers.kill_and_restart()
    (moments.checkpoint / "offsets").mkdir(parents=True)
    (moments.checkpoint / "offsets" / ".0.5f0c0f4e-half-written.tmp").write_text("v1")
    query = run_to(spark, bus, moments, "committed", 1)
    query.stop()
    assert_everything_once(spark, bus, moments, truth, publishers)


@pytest.mark.timeout(900)
def test_every_message_is_read_once_when_any_other_process_dies(spark, bus, truth, publishers, moments):
    """In one session: a query without its source process fails, and a restart continues; Spark retries a task
    without its worker."""
    publishers.kill_and_restart()
    for moment in ("logged", "running", "written", "committed"):
        query = run_to(spark, bus, moments, moment, moments.batches() + (moment == "running"))
        noticed = fails_after_its_source_process(spark, query, truth)
        publishers.kill_and_restart()
        moments.release()
        eventually(noticed, "the query noticing", PATIENCE_S)
        assert query.exception() is not None
    for _ in range(2):
        number = moments.batches() + 1
        query = run_to(spark, bus, moments, "running", number)
        for worker in spark_processes.workers(spark_processes.jvm(spark)):
            os.kill(worker, signal.SIGKILL)
        moments.release()
        moments.wait("committed", number, lambda query=query: query.isActive)
        query.stop()
        truth.take()
    assert_everything_once(spark, bus, moments, truth, publishers)
