# SPDX-License-Identifier: Apache-2.0
"""The shared session itself: it works, starts fast, and the leak check sees through it."""

import subprocess
import threading

import pytest

from support.waiting import eventually


def test_the_shared_session_runs_python_in_workers_and_calls_back(spark, tmp_path):
    seen = []
    stream = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
    query = stream.writeStream.foreachBatch(lambda batch, number: seen.append(batch.count())).start()
    eventually(lambda: len(seen) > 1, "two batches")
    query.stop()
    doubled = spark.range(10).mapInArrow(lambda batches: batches, "id long").collect()
    assert [row.id for row in doubled] == list(range(10))


@pytest.mark.parametrize("leak", ["descriptor", "child", "thread"])
def test_the_leak_check_still_sees_what_a_test_leaves_beside_spark(spark, snapshot, tmp_path, leak):
    assert snapshot.leaks() == []
    if leak == "descriptor":
        with open(tmp_path / "held", "w"):
            assert "held" in snapshot.leaks()[0]
    elif leak == "child":
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
            assert snapshot.leaks() != []
            child.stdin.close()
    else:
        end = threading.Event()
        thread = threading.Thread(target=end.wait)
        thread.start()
        assert thread in snapshot.fresh_threads()
        end.set()
        thread.join()
    assert snapshot.leaks() == []
