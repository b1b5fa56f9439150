# SPDX-License-Identifier: Apache-2.0
"""A recording that is replayed and recorded again is the same recording, and its report is correct."""

import slipring
from slipring.pipelines import record, replay, report
from slipring.pipelines.lake import Lake

COMPARED = ("topic", "offset", "span", "lost", "timestamp_ns", "sender", "type", "value", "date")


def rows(spark, lake):
    found = Lake.open(lake).read(spark).select(*COMPARED).orderBy("topic", "offset").collect()
    return [tuple(row) for row in found]


def test_a_recording_replayed_and_recorded_again_is_equal(spark, bus_root, tmp_path):
    with slipring.Bus("first", root=bus_root) as bus:
        imu = bus.publisher("imu", "gyro", capacity="1MiB")
        orders = bus.publisher(
            "orders", "ann", delivery="reliable", capacity="64KiB", writers="one", mode=0o640
        )
        for number in range(500):
            imu.send(b"%d" % number, type="imu.v1")
            if number % 10 == 0:
                orders.send(b"go %d" % number, type=f"kind{number % 3}")
        imu.send(b"")
        options = {"root": bus_root, "until_idle_s": 1.0, "spark": spark}
        first = record("*", tmp_path / "first", bus="first", pre_buffer=True, **options)
        settings = {topic: bus.stats(topic) for topic in bus.topics()}
    done = replay(tmp_path / "first", bus="second", root=bus_root, speed="max", spark=spark)
    assert done.messages == first.messages == 551
    with slipring.Bus("second", root=bus_root) as bus:
        for topic, was in settings.items():
            now = bus.stats(topic)
            for setting in ("capacity", "slots", "delivery", "writers", "mode", "max_readers", "max_cursors"):
                assert now[setting] == was[setting], (topic, setting)
    record("*", tmp_path / "second", bus="second", pre_buffer=True, **options)
    assert rows(spark, tmp_path / "first") == rows(spark, tmp_path / "second")

    found = report(tmp_path / "second", spark=spark, html=tmp_path / "report.html")
    assert found.totals["messages"] == 551 and found.totals["lost"] == 0
    assert [row["topic"] for row in found.topics] == ["imu", "orders"]
    assert "551 messages" in (tmp_path / "report.html").read_text()
