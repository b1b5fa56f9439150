# SPDX-License-Identifier: Apache-2.0
"""Lakes of an earlier version are read, replayed and recorded into by Spark."""

from lake import old_lakes
from slipring import pipelines
from slipring.pipelines.lake import Lake
from slipring.pipelines.lake.verify import verify


def test_an_old_lake_is_read_and_replayed(spark, bus, tmp_path):
    path = old_lakes.unpack(tmp_path)[0]
    rows = Lake.open(path).read(spark)
    assert rows.groupBy().sum("span", "lost").first()[:] == (600, 258)
    bus.create("imu", delivery="reliable", capacity=1 << 20)
    with bus.subscriber("imu", start="oldest") as imu:
        found = pipelines.replay(path, bus=bus, speed="max", spark=spark)
        messages = [*imu.recv_many(300, timeout=5)]
    assert found.topics == {"imu": 300, "camera": 42}
    assert [message.body for message in messages] == [f"imu {number}".encode() for number in range(300)]
    assert {(message.sender, message.type) for message in messages} == {("arm", "imu.v1")}


def test_an_open_session_of_an_old_lake_is_resumed(spark, bus, tmp_path):
    path = old_lakes.unpack(tmp_path)[0]
    session = old_lakes.move_open_session(path, bus)
    bus.publisher("imu", delivery="reliable").send_many([b"new"] * 20)
    bus.publisher("camera").send_many([b"new"] * 5)
    where = {"bus": bus.name, "root": bus.root, "spark": spark}
    found = pipelines.record("imu,camera", path, until_idle_s=1, every_s=0, pre_buffer=True, **where)
    assert (found.session, found.ended) == (session, True)
    assert found.topics["imu"] == {"messages": 120, "lost": 0, "abandoned": 0}
    assert found.topics["camera"] == {"messages": 19, "lost": 86, "abandoned": 0}
    verdict = verify(path)
    assert verdict.complete, verdict.problems
