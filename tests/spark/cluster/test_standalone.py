# SPDX-License-Identifier: Apache-2.0
"""Source, sink and recorder refuse a cluster with workers that do not see the topics, by its name, without loss or
leftovers. They serve a cluster with workers that do."""

import os
from pathlib import Path

import pytest

from spark import PATIENCE_S
from spark.cluster.standalone import Cluster, can_unshare

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(not can_unshare(), reason="needs the right to make a mount namespace"),
]

DRIVER = """
import threading
import time
import slipring.spark
from slipring import pipelines

spark = slipring.spark.session("cluster", master=master, **settings)
place = {"bus": "test", "root": root}
seen = []

def stream(**more):
    return (spark.readStream.format("slipring")
            .options(**place, subscribe="in", groupId="g", startingOffsets="earliest", **more).load())

def start(frame, name):
    return (frame.writeStream.foreachBatch(lambda batch, number: seen.extend(row.offset for row in batch.collect()))
            .option("checkpointLocation", checkpoints + "/" + name).trigger(availableNow=True).start())

def failure(run):
    try:
        run()
    except Exception as error:
        return str(error)
    return ""

def write():
    spark.range(10).selectExpr("cast(id as string) as value").write.format("slipring").mode("append").options(
        **place, topic="out").save()

def record():
    return pipelines.record("in", checkpoints + "/lake", spark=spark, pre_buffer=True, until_idle_s=0.5, **place)

# Before there is an executor, the host of the tasks is unknown.
query = start(stream(failOnDataLoss="false", includeGaps="true"), "first")
def tell():
    while len(spark.sparkContext.statusTracker().getActiveStageIds()) < 2:
        time.sleep(0.01)
    say("waiting")

threading.Thread(target=tell).start()
written = failure(write)
say(failure(query.awaitTermination))
say(written)
say(seen)
hear()
# An executor that does not see the topics.
say(failure(lambda: stream(failOnDataLoss="false")))
say(failure(write))
say(failure(record))
hear()
# An executor that sees them.
start(stream(), "second").awaitTermination()
write()
say(seen)
recorded = record()
say((recorded.messages, recorded.lost))
hear()
spark.stop()
say("stopped")
"""
REFUSED = "OtherHost: bus directory '{path}' is in the memory of host"


def test_a_cluster_that_does_not_see_the_topics_is_refused_and_one_that_does_is_served(
    bus, processes, tmp_path
):
    bus.publisher("in", delivery="reliable").send_many([b"%d" % n for n in range(100)])
    settings = {
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
    }
    refused = REFUSED.format(path=bus.path)
    with Cluster(tmp_path) as cluster:
        driver = processes.start(
            DRIVER, settings=settings, master=cluster.url, checkpoints=str(tmp_path), env=LOCAL
        )
        assert driver.hear(PATIENCE_S) == "waiting"
        stranger = cluster.worker(own_shm=True)
        reading, writing = driver.hear(PATIENCE_S), driver.hear(PATIENCE_S)
        assert refused in reading and "the task that reads topic 'in' on" in reading
        assert refused in writing and "a task of the sink on" in writing
        assert driver.hear(PATIENCE_S) == []
        assert os.listdir(f"/proc/{stranger.pid}/root/dev/shm") == []
        driver.say("go on")
        for _ in range(3):
            told = driver.hear(PATIENCE_S)
            assert refused.removeprefix("OtherHost: ") in told and "executor" in told
        cluster.end(stranger)
        cluster.worker()
        driver.say("go on")
        assert sorted(driver.hear(PATIENCE_S)) == list(range(100))
        assert driver.hear(PATIENCE_S) == (100, 0)
        found = [msg.body for msg in bus.subscriber("out", start="oldest").recv_many(99)]
        assert sorted(found) == [b"%d" % n for n in range(10)]
        driver.say("end")
        assert driver.hear(PATIENCE_S) == "stopped"
    outbox = Path(bus.root) / f".outbox-{os.getuid()}"
    assert list(outbox.rglob("*.part")) == []


LOCAL = {"SPARK_LOCAL_IP": "127.0.0.1"}
