# SPDX-License-Identifier: Apache-2.0
"""Recordings of typed topics: the schema stays with the data, fields are columns, and a replay gives both back."""

import dataclasses
from dataclasses import dataclass
from typing import Annotated

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.streaming.datasource import ReadAllAvailable

import slipring
from slipring._bus.schema.declare import declare
from slipring.errors import BadArgument, SchemaMismatch
from slipring.pipelines import record, replay
from slipring.pipelines.lake import Lake
from slipring.pipelines.lake.verify import verify
from slipring.pipelines.record.batch import RecordingSource
from spark.pipelines import typed_topics

COMPARED = ("topic", "offset", "span", "lost", "timestamp_ns", "sender", "type", "value", "date")
ENCODINGS = ("msgpack", "json", "numpy", "arrow", "protobuf", "flatbuffers")


@dataclass
class Imu:
    t: float
    count: Annotated[int, "int16"]


@dataclass
class Newer:
    t: float
    count: int
    label: str | None = "none"


@dataclass
class Other:
    t: str
    count: int


def rows(spark, lake):
    found = Lake.open(lake).read(spark).select(*COMPARED).orderBy("topic", "offset").collect()
    return [tuple(row) for row in found]


@pytest.fixture(scope="module")
def options(spark):
    return {"until_idle_s": 0.5, "pre_buffer": True, "spark": spark}


def test_six_encodings_go_from_the_ring_to_the_lake_and_back_and_are_equal(
    spark, bus_root, tmp_path, options
):
    with slipring.Bus("first", root=bus_root) as bus:
        typed_topics.publish(bus)
        sent = {topic: typed_topics.bodies(bus, topic) for topic in ENCODINGS}
        schemas = {topic: bus.schema(topic) for topic in ENCODINGS}
    record("*", tmp_path / "first", bus="first", root=bus_root, **options)
    done = replay(tmp_path / "first", bus="second", root=bus_root, speed="max", spark=spark)
    assert done.topics == dict.fromkeys(ENCODINGS, typed_topics.COUNT)
    with slipring.Bus("second", root=bus_root) as bus:
        for topic in ENCODINGS:
            assert schemas[topic].encoding == topic
            assert bus.schema(topic) == schemas[topic]
            assert typed_topics.bodies(bus, topic) == sent[topic]
    record("*", tmp_path / "second", bus="second", root=bus_root, **options)
    assert rows(spark, tmp_path / "first") == rows(spark, tmp_path / "second")
    for lake in (Lake.open(tmp_path / "first"), Lake.open(tmp_path / "second")):
        for topic in ENCODINGS:
            assert list(lake.schemas(topic).values()) == [schemas[topic]]
        assert verify(lake.path).complete


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, spark, options):
    """A lake of the six encodings, an untyped topic, two topics of one schema, and re-created topics."""
    path, root = tmp_path_factory.mktemp("typed") / "lake", str(tmp_path_factory.mktemp("bus"))
    with slipring.Bus("b", root=root) as bus:
        typed_topics.publish(bus)
        bus.publisher("plain").send(b"bytes")
        for topic in ("left", "right"):
            bus.publisher(topic, schema=Imu).send_many([Imu(0.5, 1), Imu(1.5, 2)])
        for topic in ("again", "changed"):
            bus.publisher(topic, schema=Imu).send(Imu(2.5, 3))
        with bus.publisher("bad", schema=Imu) as pub:
            pub.send(Imu(0.5, 1))
            pub.send_raw(b"\xc1")
            pub.send(Imu(1.5, 2))
        record("*", path, bus="b", root=root, **options)
        bus.remove("again"), bus.remove("changed")
        bus.publisher("again", schema=Newer).send(Newer(3.5, 1 << 40, "new"))
        bus.publisher("changed", schema=Other).send(Other("text", 4))
        record(["again", "changed"], path, bus="b", root=root, **options)
        for topic in bus.topics():
            bus.remove(topic)
    return Lake.open(path)


@pytest.mark.parametrize("topic", ENCODINGS)
def test_the_fields_of_a_typed_topic_are_columns(recorded, spark, topic):
    found = recorded.read(spark, [topic], decode=True)
    (schema,) = recorded.schemas(topic).values()
    names = [name for name, _ in schema.fields]
    head = ["topic", "generation", "offset", "timestamp", "timestamp_ns", "sender", "type"]
    assert found.columns == head + names
    table = found.orderBy("offset").toArrow()
    if topic == "arrow":
        want = [row for batch in typed_topics.batches() for row in batch.to_pylist()]
        assert table.select(names).to_pylist() == want
        assert len(set(table["offset"].to_pylist())) == typed_topics.COUNT
        return
    assert table["offset"].to_pylist() == list(range(typed_topics.COUNT))
    if topic in ("msgpack", "json"):
        assert table["i64"].to_pylist() == list(range(typed_topics.COUNT))
        assert table["u64"][0].as_py() == (1 << 64) - 1 and table["maybe"][:2].to_pylist() == [None, 1]
        assert table["grid"][0].as_py() == [[1, 2, 3], [4, 5, 6]] and table["mode"][0].as_py() == "fast"
    else:
        assert table["t"].to_pylist()[:3] == [0, 1, 2]


def test_the_schema_is_in_the_lake_before_a_task_reads_the_first_message(bus, tmp_path):
    """A topic may be removed as soon as its messages are read."""
    lake = Lake.create(tmp_path / "lake")
    options = {"bus": bus.name, "root": bus.root, "subscribe": "imu", "groupId": "g"}
    options |= {"lake": str(lake.path), "sync": "false", "ends": str(tmp_path / "ends")}
    with bus.publisher("imu", schema=Imu) as pub:
        pub.send(Imu(0.5, 1))
    source = RecordingSource({**options, "startingOffsets": "earliest"})
    reader = source.streamReader(source.schema())
    start = reader.initialOffset()
    reader.partitions(start, reader.latestOffset(start, ReadAllAvailable()))
    reader.stop()
    bus.remove("imu")
    assert list(lake.schemas("imu").values()) == [declare(Imu)]


def test_topics_of_one_schema_are_read_together(recorded, spark):
    found = recorded.read(spark, ["left", "right"], decode=True).orderBy("topic", "offset").collect()
    assert [(row.topic, row.offset, row.t, row["count"]) for row in found] == [
        *(("left", 0, 0.5, 1), ("left", 1, 1.5, 2)),
        *(("right", 0, 0.5, 1), ("right", 1, 1.5, 2)),
    ]


def test_topics_of_several_schemas_are_refused_by_name_and_field(recorded, spark):
    with pytest.raises(SchemaMismatch, match=r"'left' and 'numpy'.*encoding msgpack.*encoding numpy"):
        recorded.read(spark, ["left", "numpy"], decode=True)
    with pytest.raises(SchemaMismatch, match=r"'again' and 'left'.*field label") as caught:
        recorded.read(spark, ["left", "again"], decode=True)
    assert (caught.value.field, caught.value.argument) == ("label", "topics")
    with pytest.raises(SchemaMismatch, match="'plain' was recorded without a schema"):
        recorded.read(spark, ["plain"], decode=True)


def test_an_earlier_generation_is_read_as_the_newest_one(recorded, spark):
    found = recorded.read(spark, ["again"], decode=True).orderBy("timestamp_ns").collect()
    assert [(row.t, row["count"], row.label) for row in found] == [(2.5, 3, "none"), (3.5, 1 << 40, "new")]
    assert len({row.generation for row in found}) == 2


def test_generations_that_do_not_fit_are_refused_by_field_and_can_be_read_by_time(recorded, spark):
    with pytest.raises(SchemaMismatch, match=r"of topic 'changed' cannot be read as the newest.*field t"):
        recorded.read(spark, ["changed"], decode=True)
    last = max(file.last_time_ns for file in recorded.files(["changed"]))
    (row,) = recorded.read(spark, ["changed"], since_ns=last, decode=True).collect()
    assert (row.t, row["count"]) == ("text", 4)
    (row,) = recorded.read(spark, ["changed"], until_ns=last, decode=True).collect()
    assert (row.t, row["count"]) == (2.5, 3)


def test_a_bad_body_is_named_or_null_or_left_out(recorded, spark):
    with pytest.raises(PySparkException, match="topic 'bad', sequence 1"):
        recorded.read(spark, ["bad"], decode=True).collect()

    def found(mode):
        rows = recorded.read(spark, ["bad"], decode=True, mode=mode).orderBy("offset").collect()
        return [(row.offset, row.t) for row in rows]

    assert found("PERMISSIVE") == [(0, 0.5), (1, None), (2, 1.5)]
    assert found("DROPMALFORMED") == [(0, 0.5), (2, 1.5)]
    with pytest.raises(BadArgument, match="mode='STRICT'"):
        recorded.read(spark, ["bad"], decode=True, mode="STRICT")


def test_a_recording_is_read_as_bytes_by_default(recorded, spark):
    row = recorded.read(spark, ["left"]).orderBy("offset").first()
    assert bytes(row.value) == b"\x82\xa1t\xcb?\xe0\x00\x00\x00\x00\x00\x00\xa5count\x01"


def test_sql_over_typed_topics_sees_their_fields(recorded, spark):
    assert recorded.register(spark, ["left", "plain", "numpy"], prefix="lake.") == [
        "lake.left", "lake.plain", "lake.numpy"
    ]  # fmt: skip
    assert spark.sql("select sum(t), sum(`count`) from `lake.left`").first()[:] == (2.0, 3)
    assert spark.sql("select acc[0] from `lake.numpy` where t = 3").first()[0] == 0.5
    assert bytes(spark.sql("select value from `lake.plain`").first()[0]) == b"bytes"
    with pytest.raises(BadArgument, match="'unknown' is not in the recording"):
        recorded.register(spark, ["unknown"])
    for name in ("left", "plain", "numpy"):
        spark.catalog.dropTempView(f"`lake.{name}`")


def test_a_selection_without_files_has_no_rows(recorded, spark):
    found = recorded.read(spark, ["left"], since_ns=1 << 62, decode=True)
    assert found.columns[-2:] == ["t", "count"] and found.count() == 0
    assert recorded.read(spark, ["unknown"], decode=True).count() == 0


def test_a_replay_is_refused_before_the_first_message_if_the_topic_has_another_schema(recorded, spark, bus):
    bus.create("left", schema=Other)
    with pytest.raises(SchemaMismatch, match=r"topic 'left' exists with another schema.*field t") as caught:
        replay(recorded.path, bus=bus, topics=["left", "right"], speed="max", spark=spark)
    assert (caught.value.field, caught.value.found, caught.value.asked) == ("t", "str", "float64")
    bus.create("right")
    with pytest.raises(
        SchemaMismatch, match=r"topic 'right' exists with another schema.*is untyped in the topic"
    ):
        replay(recorded.path, bus=bus, topics=["right"], speed="max", spark=spark)
    with pytest.raises(SchemaMismatch, match=r"schema Other .msgpack. in the topic and untyped"):
        replay(recorded.path, bus=bus, topics=["plain"], rename={"plain": "left"}, speed="max", spark=spark)
    assert [bus.stats(topic)["published"] for topic in bus.topics()] == [0, 0]


def test_a_replay_of_generations_with_several_schemas_is_refused_and_one_of_them_is_replayed(
    recorded, spark, bus
):
    with pytest.raises(SchemaMismatch, match=r"'changed' was recorded with several schemas.*field t"):
        replay(recorded.path, bus=bus, topics=["changed"], speed="max", spark=spark)
    assert bus.topics() == []
    last = max(file.last_time_ns for file in recorded.files(["changed"]))
    import datetime

    until = datetime.datetime.fromtimestamp(last / 1e9 - 1e-3, datetime.UTC)
    replay(recorded.path, bus=bus, topics=["changed"], end=until, speed="max", spark=spark)
    assert bus.schema("changed") == declare(Imu)
    assert [dataclasses.astuple(m.value) for m in typed_values(bus, "changed", Imu)] == [(2.5, 3)]


def typed_values(bus, topic, schema):
    with bus.subscriber(topic, start="oldest", schema=schema) as sub:
        return sub.recv_many(100)


def test_a_bad_body_is_replayed_as_it_is(recorded, spark, bus):
    replay(recorded.path, bus=bus, topics=["bad"], speed="max", spark=spark)
    assert [body for *_, body in typed_topics.bodies(bus, "bad")][1] == b"\xc1"
