# SPDX-License-Identifier: Apache-2.0
"""Typed topics in the source: their fields are columns with no option (in Spark, and in readers called as by Spark)."""

import datetime
import decimal
import json
from typing import Annotated, NamedTuple

import numpy
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import types as T

import slipring
from schema import foreign, samples
from slipring._bus.schema.declare import declare
from slipring.errors import SchemaMismatch
from slipring.spark.decode import ddl
from slipring.spark.errors import BadOption, BadValue
from slipring.spark.source.data_source import DefaultSource
from slipring.spark.source.offsets import BadOffsets

pytestmark = pytest.mark.timeout(400)
IMU = numpy.dtype([("t", "<f8"), ("acc", "<f8", (3,)), ("n", "<u8"), ("name", "U4")])
ROW = (1.5, (1, 2, 3), 2**64 - 1, "gyro")


class Pose(NamedTuple):
    x: float
    note: str | None = None


class Wide(NamedTuple):
    x: Annotated[float, "float32"]
    note: str | None = None


@pytest.fixture
def source(bus):
    def make(**options):
        return DefaultSource({"bus": bus.name, "root": bus.root, **options})

    return make


@pytest.fixture
def frame(spark, bus):
    def make(**options):
        return spark.read.format("slipring").options(bus=bus.name, root=bus.root, **options).load()

    return make


@pytest.fixture
def rows(bus):
    """Read a topic as Spark does, without Spark."""
    from slipring.spark.source import tasks

    def read(**options):
        made = DefaultSource({"bus": bus.name, "root": bus.root, **options})
        reader = made.reader(made.schema())
        return [
            row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()
        ]

    yield read
    while tasks._OPEN:
        tasks._OPEN.popitem()[1].close()


def publish(bus, topic, schema, *values, **settings):
    publisher = bus.publisher(topic, schema=schema, **settings)
    for value in values:
        publisher.send(value)
    return publisher


# Columns


def test_the_fields_of_a_typed_topic_are_columns_with_no_option(frame, bus):
    publish(bus, "imu", IMU, numpy.array(ROW, IMU)[()], sender="gyro")
    found = frame(subscribe="imu")
    assert found.columns == [
        "topic",
        "offset",
        "timestamp",
        "timestamp_ns",
        "sender",
        "type",
        "host",
        *IMU.names,
    ]
    assert found.select(*IMU.names).schema.simpleString() == (
        "struct<t:double,acc:array<double>,n:decimal(20,0),name:string>"
    )
    (row,) = found.collect()
    assert (row.topic, row.offset, row.sender) == ("imu", 0, "gyro")
    assert (row.t, row.acc, row.n, row.name) == (1.5, [1.0, 2.0, 3.0], decimal.Decimal(2**64 - 1), "gyro")


def test_every_type_of_a_class_has_its_column_in_spark(frame, bus, spark):
    publish(bus, "all", samples.Everything, samples.everything())
    found = frame(subscribe="all", columns=",".join(name for name, _ in declare(samples.Everything).fields))
    parsed = T._parse_datatype_string(declare(samples.Everything).ddl)
    assert found.schema == parsed == ddl.parse(declare(samples.Everything).ddl)
    text = found.selectExpr("to_json(struct(*))", "when", "long", "u64", "price").first()
    row = json.loads(text[0])
    assert text[1:] == (
        samples.MOMENT.astimezone().replace(tzinfo=None),
        datetime.timedelta(days=-1, microseconds=3), decimal.Decimal(2**64 - 1), decimal.Decimal("-12345678.90"),
    )  # fmt: skip
    assert (row["u8"], row["u32"], row["f16"], row["f32"]) == (255, 2**32 - 1, 0.5, -2.5)
    assert row["grid"] == [[1, 2, 3], [4, 5, 6]] and row["many"][1] == {"number": 2, "text": "b"}
    assert row["by_name"] == {"x": {"number": 4, "text": "default"}, "none": None}
    assert (row["colour"], row["level"], row["mode"], row["with_default"]) == ("g", 1 << 40, "fast", 7)
    assert row["key"] == "00000000-0000-0000-0000-000000000005"


ENCODINGS = {
    "msgpack": (Pose, None, [Pose(1.0, "a"), Pose(2.0)]),
    "json": (Pose, "json", [Pose(1.0, "a"), Pose(2.0)]),
    "numpy": (numpy.dtype([("x", "<f8"), ("note", "U2")]), None, [{"x": 1, "note": "a"}, {"x": 2, "note": ""}]),
    "arrow": (
        pa.schema([pa.field("x", pa.float64()), ("note", pa.large_string())]),
        None,
        [{"x": 1.0, "note": "a"}, {"x": 2.0, "note": None}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_each_encoding_gives_the_same_rows(rows, bus, encoding):
    schema, chosen, values = ENCODINGS[encoding]
    publisher = bus.publisher("pose", schema=schema, **({"encoding": chosen} if chosen else {}))
    for value in values:
        publisher.send(value)
    empty = "" if encoding == "numpy" else None
    assert rows(subscribe="pose", columns="offset,x,note") == [
        {"offset": 0, "x": 1.0, "note": "a"}, {"offset": 1, "x": 2.0, "note": empty},
    ]  # fmt: skip


def test_messages_of_protobuf_and_flatbuffers_are_columns(rows, bus):
    publish(bus, "proto", foreign.imu()).send_raw(foreign.imu()(t=1.5).SerializeToString())
    publish(bus, "flat", foreign.bfbs()).send_raw(foreign.flat_from_json(json.dumps({"t": 1.5})))
    for topic in ("proto", "flat"):
        assert [row["t"] for row in rows(subscribe=topic)] == [1.5]


def test_every_row_of_a_message_of_encoding_arrow_is_a_row_and_repeats_the_offset(rows, bus):
    schema = pa.schema([pa.field("x", pa.int8())])
    publisher = bus.publisher("rows", schema=schema, sender="ann")
    for numbers in ([1, 2], [], [3]):
        publisher.send_many(pa.record_batch([pa.array(numbers, pa.int8())], schema=schema))
    found = [(row["offset"], row["sender"], row["x"]) for row in rows(subscribe="rows")]
    assert [row[2] for row in found] == [1, 2, 3]
    assert found[0][:2] == found[1][:2] == (0, "ann") and found[2][0] > 0


def test_the_option_columns_selects_fields_and_columns_of_the_message(source, rows, bus):
    publish(bus, "imu", IMU, numpy.array(ROW, IMU)[()])
    assert source(subscribe="imu", columns="n,offset,t").schema().names == ["offset", "n", "t"]
    assert rows(subscribe="imu", columns="t") == [{"t": 1.5}]
    (row,) = rows(subscribe="imu", columns="value,t")
    assert row["value"] == numpy.array(ROW, IMU).tobytes() and row["t"] == 1.5
    with pytest.raises(
        BadOption, match="option columns: there is no column T: the columns are t, acc, n, name, topic"
    ):
        source(subscribe="imu", columns="T").schema()


def test_a_field_goes_before_a_column_of_the_message_with_its_name(source, rows, bus):
    publish(bus, "log", numpy.dtype([("HOST", "<i4"), ("lost", "<i4")]), {"HOST": 1, "lost": 2})
    assert source(subscribe="log").schema().names[-3:] == ["type", "HOST", "lost"]
    assert rows(subscribe="log", columns="lost,span") == [{"span": 1, "lost": 2}]
    publish(bus, "level", numpy.dtype("<f4"), 0.5)
    assert rows(subscribe="level", columns="offset,value") == [{"offset": 0, "value": 0.5}]


def test_value_format_raw_gives_bytes_of_any_topic(rows, bus):
    publish(bus, "imu", IMU).send_raw(b"any")
    publish(bus, "pose", Pose, Pose(1.0))
    bus.publisher("bytes").send(b"x")
    found = rows(subscribePattern=".*", valueFormat="RAW", columns="value")
    assert len(found) == 3 and {"value": b"any"} in found


def test_a_dataframe_without_values_reads_topics_of_all_schemas(rows, bus):
    publish(bus, "imu", IMU, numpy.array(ROW, IMU)[()])
    publish(bus, "pose", Pose, Pose(1.0))
    bus.publisher("bytes").send(b"x")
    assert len(rows(subscribePattern=".*", columns="topic,offset")) == 3


# Topics with different schemas


def test_topics_with_one_schema_are_one_dataframe(rows, bus):
    class Other(NamedTuple):
        x: float
        note: str | None = None

    publish(bus, "a", Pose, Pose(1.0))
    publish(bus, "b", Other, Other(2.0))
    found = rows(subscribe="a,b", columns="topic,x")
    assert found == [{"topic": "a", "x": 1.0}, {"topic": "b", "x": 2.0}]


@pytest.mark.parametrize("names", [{"subscribe": "a,b"}, {"subscribePattern": "[ab]"}])
def test_topics_with_different_schemas_are_refused_with_both_names_and_the_field(source, bus, names):
    publish(bus, "a", Pose)
    publish(bus, "b", Wide)
    with pytest.raises(SchemaMismatch) as caught:
        source(**names).schema()
    text = str(caught.value)
    assert "topics 'a' and 'b' have different schemas: field x: float64 in 'a', float32 in 'b'" in text
    assert "subscribe to them separately" in text and "valueFormat=raw" in text
    assert (caught.value.field, caught.value.argument) == ("x", "valueFormat")


def test_a_typed_and_an_untyped_topic_are_refused(source, bus):
    publish(bus, "a", Pose)
    bus.create("bytes")
    with pytest.raises(
        SchemaMismatch, match=r"topic 'a' has a schema and topic 'bytes' has none: .*valueFormat=raw"
    ):
        source(subscribe="bytes,a").schema()
    assert source(subscribe="bytes,a", valueFormat="raw").schema().names[6] == "value"


CONFLICTS = [
    ("valueSchema", {"valueSchema": "x double"}, "valueFormat"),
    ("valueSchema", {"valueSchema": "x double", "valueFormat": "auto"}, "not auto"),
    ("valueSchema", {"valueSchema": "x double", "valueFormat": "raw"}, "not raw"),
    ("mode", {"mode": "PERMISSIVE", "valueFormat": "raw"}, "not raw"),
    ("valueDtype", {"valueDtype": "[('x','f8')]"}, "valueFormat"),
    ("valueFormat", {"valueFormat": "json", "valueSchema": "x double"}, "encoding msgpack"),
]


@pytest.mark.parametrize(("option", "given", "why"), CONFLICTS, ids=lambda value: str(value)[:50])
def test_options_that_contradict_the_schema_are_refused_by_name(source, bus, option, given, why):
    publish(bus, "pose", Pose)
    with pytest.raises(BadOption, match=why) as caught:
        source(subscribe="pose", **given).schema()
    assert caught.value.argument == option


def test_a_format_of_its_own_still_decodes_a_typed_topic(rows, bus):
    publish(bus, "pose", Pose, Pose(1.0))
    found = rows(subscribe="pose", columns="offset", valueFormat="msgpack", valueSchema="x DOUBLE")
    assert found == [{"offset": 0, "x": 1.0}]


def test_a_schema_that_is_none_is_corrupt_with_the_topic_and_its_bytes_can_be_read(source, rows, bus):
    schema = declare(Pose).to_bytes().replace(b'"version":1', b'"version":9')
    bus._create("pose", {"schema": schema}, False)
    with pytest.raises(slipring.Corrupt, match=r"topic 'pose'.*version 9"):
        source(subscribe="pose").schema()
    assert rows(subscribe="pose", valueFormat="raw", columns="value") == []


# Values that do not decode


BAD = {
    "msgpack": (Pose, Pose(1.0), b"\x81\xa1x\xa1y", "x"),
    "numpy": (IMU, numpy.array(ROW, IMU)[()], b"short", "5 bytes"),
    "character": (IMU, numpy.array(ROW, IMU)[()], numpy.array(ROW, IMU).tobytes()[:-4] + b"\xff" * 4, "name"),
    "arrow": (pa.schema([pa.field("x", pa.int8())]), {"x": 1}, b"no", "record batch"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_message_stops_the_query_or_as_mode_asks_is_null_or_left_out(rows, bus, kind):
    schema, good, body, why = BAD[kind]
    publisher = publish(bus, "bad", schema, good)
    publisher.send_raw(body)
    publisher.send(good)
    with pytest.raises(BadValue, match=f"offset 1 of topic 'bad' does not decode: .*{why}"):
        rows(subscribe="bad")
    field = schema._fields[0] if schema is Pose else schema.names[0]
    kept = rows(subscribe="bad", mode="PERMISSIVE", columns=f"offset,value,{field}")
    assert [row["offset"] for row in kept] == [0, 1, 2]
    assert (
        kept[1]["value"] == body and kept[1][field] is None and kept[2][field] == kept[0][field] is not None
    )
    assert [row["offset"] for row in rows(subscribe="bad", mode="DROPMALFORMED")] == [0, 2]


@pytest.mark.parametrize("kind", BAD)
def test_a_gap_has_null_in_every_field(rows, bus, kind):
    schema, good, _, _ = BAD[kind]
    publisher = bus.publisher("imu", schema=schema, capacity=4096, slots=16)
    for _ in range(40):
        publisher.send(good)
    field = schema._fields[0] if schema is Pose else schema.names[0]
    found = rows(
        subscribe="imu", columns=f"offset,span,{field}", includeGaps="true", failOnDataLoss="false",
        startingOffsets='{"imu": 0}',
    )  # fmt: skip
    assert found[0]["offset"] == 0 and found[0]["span"] > 1 and found[0][field] is None
    assert all(row[field] is not None for row in found[1:]) and found[1]["offset"] == found[0]["span"]


# Streams


def test_a_stream_has_the_fields_and_the_next_topic_with_the_same_schema(driven, bus):
    publish(bus, "a1", Pose, Pose(1.0))
    reader = driven(subscribePattern="a.*", startingOffsets="earliest")
    assert [row["x"] for row in reader.batch()] == [1.0]
    publish(bus, "a2", Pose, Pose(2.0))
    assert [(row["topic"], row["x"]) for row in reader.batch()] == [("a2", 2.0)]
    reader.restart()
    assert reader.batch() == []


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (Wide, "topics 'a1' and 'a2' have different schemas: field x: float64 in 'a1', float32 in 'a2'"),
        (None, "topic 'a1' has a schema and topic 'a2' has none"),
    ],
)
def test_a_new_topic_with_another_schema_stops_a_stream(driven, bus, schema, why):
    publish(bus, "a1", Pose, Pose(1.0))
    reader = driven(subscribePattern="a.*", startingOffsets="earliest")
    reader.batch()
    bus.create("a2", **({} if schema is None else {"schema": schema}))
    with pytest.raises(SchemaMismatch) as caught:
        reader.log()
    assert why in str(caught.value)


def test_a_typed_topic_stops_a_stream_of_bytes(driven, bus):
    bus.publisher("a1").send(b"x")
    reader = driven(subscribePattern="a.*", startingOffsets="earliest")
    assert [row["value"] for row in reader.batch()] == [b"x"]
    publish(bus, "a2", Pose)
    with pytest.raises(SchemaMismatch, match="topic 'a2' has a schema, and no topic had one"):
        reader.log()


@pytest.mark.parametrize("loss", ["true", "false"])
def test_a_topic_created_again_with_another_schema_stops_a_stream(driven, bus, loss):
    publish(bus, "a", Pose, Pose(1.0)).close()
    reader = driven(subscribe="a", startingOffsets="earliest", failOnDataLoss=loss)
    reader.batch()
    bus.remove("a")
    publish(bus, "a", Wide, Wide(1.0))
    why = "topic 'a' was created again with another schema: field x: float64 before, float32 now"
    with pytest.raises(SchemaMismatch, match=why):
        reader.log()
    with pytest.raises(SchemaMismatch, match=why):
        reader.read()


def test_a_checkpoint_of_other_columns_is_refused(driven, bus):
    publish(bus, "a", Pose, Pose(1.0)).close()
    reader = driven(subscribe="a", startingOffsets="earliest", failOnDataLoss="false")
    assert reader.log() and len(reader.logged[0]["schema"]) == 16
    bus.remove("a")
    publish(bus, "a", Wide, Wide(1.0))
    reader.restart()
    with pytest.raises(BadOffsets, match="the schema of topics a has changed"):
        reader.read()
    reader.restart(valueFormat="raw")
    assert reader.read() == [] and len(reader.batch()) == 1
    del reader.logged[0]["schema"]
    reader.restart(valueFormat="auto")
    with pytest.raises(BadOffsets, match="bytes in column value"):
        reader.read()


def test_a_dataframe_keeps_the_schema_of_the_time_when_it_was_made(source, bus):
    publish(bus, "a", Pose, Pose(1.0)).close()
    made = source(subscribe="a")
    columns = made.schema()
    bus.remove("a")
    publish(bus, "a", Wide, Wide(1.0))
    with pytest.raises(SchemaMismatch, match="'a' was created again with another schema: field x"):
        made.reader(columns).partitions()


def test_a_stream_of_spark_has_columns_and_a_bad_message_names_topic_offset_and_field(spark, bus, tmp_path):
    publisher = publish(bus, "pose", Pose, Pose(1.0, "a"), Pose(2.0))
    stream = spark.readStream.format("slipring").options(bus=bus.name, root=bus.root, subscribe="pose")
    stream = stream.option("startingOffsets", "earliest").load()
    assert stream.selectExpr("x", "note").schema.simpleString() == "struct<x:double,note:string>"
    got = []
    writer = stream.writeStream.foreachBatch(lambda batch, number: got.extend(batch.collect()))
    writer = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    writer.start().awaitTermination()
    assert [(row.x, row.note) for row in got] == [(1.0, "a"), (2.0, None)]
    publisher.send_raw(b"\x81\xa1x\xa1y")
    with pytest.raises(PySparkException, match=r"offset 2 of topic 'pose' does not decode: .*x"):
        writer.start().awaitTermination()
