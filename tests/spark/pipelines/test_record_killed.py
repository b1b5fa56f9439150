# SPDX-License-Identifier: Apache-2.0
"""A recorder killed at named places, or its JVM, or its workers: after a restart nothing is lost or recorded twice.

Each run is killed while it records the messages published before it. So each is also the restart of the previous run.
"""

import pytest

from slipring.pipelines.lake import Lake
from slipring.pipelines.lake.verify import verify
from support import tiers
from support.waiting import eventually

RECORDER = """
    import os, signal, subprocess, sys
    import slipring.spark
    from slipring.pipelines import record
    from slipring.pipelines.lake import kill_points

    spark = slipring.spark.session("recorder", master="local[2,4]", **settings)
    jvm = spark.sparkContext._gateway.proc.pid

    def pythons(pid):
        listed = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(pid)], stdout=-1, text=True)
        for line in listed.stdout.splitlines():
            child, command = line.split(None, 1)
            yield from pythons(int(child))
            if "python" in command:
                yield int(child)

    def strike():
        if victim == "python":
            os.kill(os.getpid(), signal.SIGKILL)
        elif victim == "jvm":
            os.kill(jvm, signal.SIGKILL)
        else:
            for pid in list(pythons(jvm)):
                os.kill(pid, signal.SIGKILL)

    struck = False
    def reached(name):
        global struck
        if name == place and not struck:
            struck = True
            strike()
    kill_points.reached = reached
    try:
        told = record("*", path, bus="test", root=root, spark=spark, every_s=0, until_idle_s=0.5,
                      pre_buffer=True, compact_every_s=0.2)
    except slipring.SlipringError as error:
        say(type(error).__name__)
        print(error, file=sys.stderr)
        os._exit(3)
    say("finished", told.messages, told.lost, told.ended)
    spark.stop()
"""

# tests/lake kills at all places, without Spark.
KILLS = tiers.kills(
    (
        ("batch staged", "python"),
        ("entry linked", "jvm"),
        ("file moved", "python"),
        ("batch committed", "jvm"),
    ),
    (("batch staged", "python"), ("batch committed", "jvm")),
)
WATCHDOG_S = 300


@pytest.mark.timeout(5 * WATCHDOG_S)
def test_a_recorder_killed_anywhere_and_restarted_records_everything_once(
    bus, bus_root, processes, tmp_path, fast_spark
):
    path = str(tmp_path / "lake")
    publishers = {topic: bus.publisher(topic, sender="p", delivery=delivery)
                  for topic, delivery in (("kept", "reliable"), ("lossy", "lossy"))}  # fmt: skip
    sent = 0

    def publish():
        nonlocal sent
        for number in range(sent, sent + 50):
            for topic, publisher in publishers.items():
                publisher.send(f"{topic}{number}".encode())
        sent += 50

    def run(place, victim):
        publish()
        variables = {"settings": fast_spark, "root": str(bus_root), "path": path, "place": place}
        return processes.start(RECORDER, bus_name=None, victim=victim, **variables)

    def ended(recorder):
        eventually(lambda: not recorder.alive, "the end of the recorder", WATCHDOG_S)

    for place, victim in KILLS:
        recorder = run(place, victim)
        ended(recorder)
        if victim == "jvm":
            recorder.expect("SparkGone")
        assert recorder.join(None) == (3 if victim == "jvm" else -9), recorder.stderr
        verdict = verify(path)
        assert verdict.complete, (place, victim, verdict.problems)

    recorder = run(
        "batch committed", "workers"
    )  # the source process and all workers, while the recorder lives
    publish()
    assert recorder.hear(WATCHDOG_S) == ("finished", 2 * sent, 0, True), recorder.stderr
    recorder.join()
    verdict = verify(path)
    assert verdict.complete, verdict.problems
    lake = Lake.open(path)
    for topic in publishers:
        assert _values(lake, topic) == [(n, f"{topic}{n}".encode()) for n in range(sent)]
    assert bus.cursors("kept") == []


def _values(lake, topic):
    import pyarrow.parquet as pq

    found = []
    for file in lake.files([topic]):
        table = pq.ParquetFile(lake.where(file)).read(["offset", "value"])
        found += zip(table["offset"].to_pylist(), table["value"].to_pylist(), strict=True)
    return sorted(found)
