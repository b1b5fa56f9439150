# SPDX-License-Identifier: Apache-2.0
"""A driver killed while its batch is half published: after a restart every row is on the topic once (promise 30)."""

import os
import signal
from pathlib import Path

import pytest

from spark import PATIENCE_S
from spark.sink.file_batches import RING, ROWS, check, read_until, ring_is_full, write_files
from support import tiers
from support.waiting import eventually

READ_BEFORE_KILLS = tiers.kills((40, ROWS + 20), (40,))  # rows read before the kill of each driver

DRIVER = """
import sys
sys.path.insert(0, tests)
import slipring.spark
import pyspark.cloudpickle
from spark.sink import file_batches

pyspark.cloudpickle.register_pickle_by_value(file_batches)
spark = slipring.spark.session("driver", master="local[2,4]", **settings)
say(spark.sparkContext._gateway.proc.pid)
query = file_batches.start(spark, source, bus, checkpoint)
say(query.awaitTermination(120))
hear()
"""


@pytest.mark.timeout(900)
def test_drivers_killed_in_the_middle_of_batches_leave_every_row_once(bus, processes, fast_spark, tmp_path):
    source = write_files(tmp_path / "in", 2)
    variables = {
        "tests": str(Path(__file__).resolve().parents[2]),
        "settings": fast_spark,
        "source": str(source),
        "checkpoint": str(tmp_path / "checkpoint"),
    }
    bus.create("out", **RING)
    sub, got = bus.subscriber("out"), []
    for read in READ_BEFORE_KILLS:
        driver = processes.start(DRIVER, **variables)
        java = driver.hear(PATIENCE_S)
        read_until(sub, read, got)
        eventually(lambda at=read: ring_is_full(bus, at), "a full ring", PATIENCE_S)
        os.kill(java, signal.SIGKILL)
        driver.kill()
    driver = processes.start(DRIVER, **variables)
    java = driver.hear(PATIENCE_S)
    read_until(sub, 2 * ROWS, got)
    assert driver.hear(PATIENCE_S) is True
    os.kill(java, signal.SIGKILL)
    assert sub.recv(0) is None
    check(got, 2)
