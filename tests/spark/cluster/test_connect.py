# SPDX-License-Identifier: Apache-2.0
"""Spark Connect as installed by pip: a client without Java reads and writes topics through a server, and declarative
pipelines run on it. Spark finds the format by its module; no program calls register."""

import json
from typing import NamedTuple

import pytest

from slipring.pipelines import declarative
from slipring.pipelines.errors import JobFailed
from spark import PATIENCE_S

SERVER = """
from slipring.spark import connect
with connect.server("server", master="local[2,4]", **settings) as address:
    say(address)
    hear()
"""
CLIENT = """
import os
os.environ["JAVA_HOME"] = "/nowhere"  # a client needs none
import slipring.spark
spark = slipring.spark.session("client", master=address)
say(type(spark).__module__)
place = {"bus": "test", "root": root}
rows = spark.read.format("slipring").options(**place, subscribe="in").load()
say([bytes(row.value) for row in rows.orderBy("offset").collect()])
rows.select("value", "sender").write.format("slipring").mode("append").options(**place, topic="out").save()
typed = spark.read.format("slipring").options(**place, subscribe="typed", columns="x,note").load()
say([typed.schema.simpleString(), [list(row) for row in typed.orderBy("x").collect()]])
typed.write.format("slipring").mode("append").options(**place, topic="copy").save()
stream = spark.readStream.format("slipring").options(**place, subscribe="in", startingOffsets="earliest")
writer = (stream.load().select("value").writeStream.format("slipring").options(**place, topic="out")
          .option("checkpointLocation", checkpoint).trigger(availableNow=True))
done = False
while not done:
    try:
        writer.start().awaitTermination()
        done = True
    except Exception as error:
        if "failed to connect back" not in str(error):  # on a busy machine a process takes more than Spark's 10 s
            raise
try:
    rows.write.format("slipring").mode("append").options(**place, topic="out", topci="x").save()
except Exception as error:
    say("option 'topci'" in str(error))
slipring.spark.register(spark)  # not needed; it tells whether the server's Python has slipring
say("registered")
spark.stop()
say("stopped")
"""


class Pose(NamedTuple):
    x: float
    note: str | None = None


@pytest.fixture
def server(processes, fast_spark, tmp_path):
    place = {"spark.sql.warehouse.dir": str(tmp_path / "tables"), **fast_spark}
    child = processes.start(SERVER, settings=place)
    yield child.hear(PATIENCE_S)
    child.say("end")
    child.join(None)


@pytest.mark.timeout(900)
def test_a_client_and_pipelines_work_through_a_connect_server(bus, processes, server, tmp_path):
    bus.publisher("in", sender="ann").send_many([b"1", b"2", b"3"])
    bus.publisher("typed", schema=Pose).send_many([Pose(1.0, "a"), Pose(2.0)])
    bus.create("copy", schema=Pose)
    client = processes.start(CLIENT, address=server, checkpoint=str(tmp_path / "checkpoint"))
    assert "connect" in client.hear(PATIENCE_S)
    assert client.hear(PATIENCE_S) == [b"1", b"2", b"3"]
    columns = "struct<x:double,note:string>"
    assert client.hear(PATIENCE_S) == [columns, [[1.0, "a"], [2.0, None]]]
    assert client.hear(PATIENCE_S) is True
    assert client.hear(PATIENCE_S) == "registered"
    assert client.hear(PATIENCE_S) == "stopped"
    copies = bus.subscriber("copy", start="oldest", schema=Pose).recv_many(99)
    assert sorted(msg.value for msg in copies) == [Pose(1.0, "a"), Pose(2.0)]
    found = bus.subscriber("out", start="oldest").recv_many(99)
    assert sorted(msg.body for msg in found) == [b"1", b"1", b"2", b"2", b"3", b"3"]
    assert sorted(msg.sender for msg in found) == ["", "", "", "ann", "ann", "ann"]
    check_pipeline(bus, server, tmp_path)


def run_patiently(project, bus, server, lines: list[str]) -> None:
    """Start again if a process of Spark exceeds its 10 s for starting, as on a busy machine."""
    while True:
        try:
            return declarative.run(project, bus=bus.name, master=server, on_line=lines.append)
        except JobFailed as error:
            if "failed to connect back" not in str(error):
                raise


def check_pipeline(bus, server, tmp_path):
    """Run the pipeline twice; the second run handles the messages in between, once."""
    project = tmp_path / "project"
    declarative.init(project)
    with pytest.raises(ValueError, match="exists and is not empty"):
        declarative.init(project)
    example = project / "transformations" / "alarms.py"
    example.write_text(example.read_text().replace('{"bus": BUS,', f'{{"bus": BUS, "root": "{bus.root}",'))
    pub = bus.publisher("readings", delivery="reliable")
    expected = []
    for degrees in ((79, 81), (95, 20)):
        pub.send_many([json.dumps({"sensor": "oven", "celsius": number}).encode() for number in degrees])
        lines: list[str] = []
        run_patiently(project, bus, server, lines)
        assert any("hot_readings has COMPLETED" in line for line in lines), lines
        expected += [{"sensor": "oven", "celsius": float(number)} for number in degrees if number > 80]
        alarms = bus.subscriber("alarms", start="oldest").recv_many(99)
        assert [json.loads(msg.body) for msg in alarms] == expected
        assert {(msg.sender, msg.type) for msg in alarms} == {("oven", "alarm.v1")}
    example.write_text(example.read_text().replace("groupId", "gruopId"))
    with pytest.raises(JobFailed, match="gruopid"):
        declarative.run(project, bus=bus.name, master=server)
