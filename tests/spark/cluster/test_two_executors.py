# SPDX-License-Identifier: Apache-2.0
"""Two executor processes: both read and write topics, and the tasks of a killed one move to the other (promises 28
and 30)."""

import os
import signal

import pytest

from spark import PATIENCE_S
from support.waiting import eventually

DRIVER = """
import slipring.spark
spark = slipring.spark.session("cluster", master="local-cluster[2,1,1024]", **settings)
say("started")

def slowly():
    # Partition 1 reports its executor and waits for the test; the others continue.
    def run(batches):
        import os, time
        from pyspark import TaskContext
        from slipring._bus.exactly_once import process_identity
        task = TaskContext.get()
        for batch in batches:
            yield batch.slice(0, 100)
            if task.partitionId() == 1 and task.attemptNumber() == 0:
                with open(place + "/executor.new", "w") as file:
                    file.write(str(process_identity.ancestor("java")))
                os.rename(place + "/executor.new", place + "/executor")
                while True:
                    time.sleep(1)
            yield batch.slice(100)
    return run

options = {"bus": "test", "root": root}
rows = spark.read.format("slipring").options(**options, subscribe="in", minPartitions=4).load()
say(rows.rdd.getNumPartitions() if hasattr(rows, "rdd") else 0)
rows = rows.select("value").mapInArrow(slowly(), "value binary")
rows.write.format("slipring").mode("append").options(**options, topic="out").save()
say("written")
hear()
spark.stop()
say("stopped")
"""


@pytest.mark.timeout(900)
def test_tasks_of_a_killed_executor_move_and_every_row_is_read_and_published_once(
    bus, processes, fast_spark, tmp_path
):
    bus.create("in", capacity="4MiB", delivery="reliable")
    keeper = bus.subscriber("in", cursor="keeper")
    bus.publisher("in").send_many([b"%d" % number for number in range(4000)])
    driver = processes.start(DRIVER, settings=fast_spark, place=str(tmp_path))
    assert driver.hear(PATIENCE_S) == "started"
    assert driver.hear(PATIENCE_S) == 4
    told = tmp_path / "executor"
    eventually(told.exists, "a task that waits", PATIENCE_S)
    os.kill(int(told.read_text()), signal.SIGKILL)
    assert driver.hear(PATIENCE_S) == "written"
    found = [int(msg.body) for msg in bus.subscriber("out", start="oldest").recv_many(10_000)]
    assert found == list(range(4000))
    driver.say("end")
    assert driver.hear(PATIENCE_S) == "stopped"
    keeper.close()
