# SPDX-License-Identifier: Apache-2.0
"""The shared session of the tests: it works, starts fast, and does not hide leaks from the leak check."""

import subprocess
import sys
import threading

import pytest

from slipring.spark.session import _quiet
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
def test_the_leak_check_finds_leaks_of_a_test_beside_spark(spark, snapshot, tmp_path, leak):
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


START = "import slipring.spark; s = slipring.spark.session('x', master='local[1,4]'); s.stop()"


def test_a_session_starts_without_output_of_spark(tmp_path):
    run = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, cwd=tmp_path)
    said = [line for line in run.stderr.splitlines() if "jdk.incubator.vector" not in line]  # Java's own
    assert (run.returncode, run.stdout, said) == (0, "", [])


def test_the_users_log_configuration_is_kept(tmp_path, monkeypatch):
    assert "log4j2.properties" in _quiet({})["spark.driver.extraJavaOptions"]
    assert _quiet({"spark.driver.extraJavaOptions": "-Xss4m"}) == {"spark.log.level": "ERROR"}
    (tmp_path / "log4j2.properties").write_text("status = error")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert _quiet({}) == {}
