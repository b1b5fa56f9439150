# SPDX-License-Identifier: Apache-2.0
"""Rows of a DataFrame in typed topics: the columns are the fields, checked when the query starts (promise 32)."""

import dataclasses
import datetime
import decimal
from typing import Annotated, NamedTuple

import msgspec
import numpy
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import types as T

import slipring
from schema import samples
from slipring._bus.schema.declare import declare
from slipring.spark.sink import options as sink_options
from slipring.spark.sink.staged_rows import StagedRows, check_schema
from slipring.spark.source.data_source import DefaultSource

pytestmark = pytest.mark.timeout(400)
IMU = numpy.dtype([("t", "<f8"), ("acc", "<f4", (2,)), ("n", "u1"), ("name", "U4")])
COLUMNS = {
    "t": T.DoubleType(), "acc": T.ArrayType(T.DoubleType()), "n": T.LongType(), "name": T.StringType(),
}  # fmt: skip
GOOD = {"t": [1.5, 2.5], "acc": [[1.0, 2.0], [3.0, 4.0]], "n": [1, 255], "name": ["a", "gyro"]}


class Pose(NamedTuple):
    x: float
    who: str
    note: str | None = None
    level: Annotated[int, "uint8"] = 7


@pytest.fixture
def options(bus):
    def parse(**given):
        return sink_options.parse({"bus": bus.name, "root": bus.root, **given}, streaming=True)

    return parse


@pytest.fixture
def staged(options):
    def stage(columns, **given):
        rows = StagedRows(options(**given))
        batch = columns if isinstance(columns, pa.RecordBatch) else pa.record_batch(columns)
        return [row for part in rows.batches(iter([batch])) for row in part.to_pylist()]

    return stage


def schema(**columns) -> T.StructType:
    return T.StructType([T.StructField(name, kind) for name, kind in columns.items()])


# When a query starts

WRONG = [
    (
        {"t": T.StringType()},
        "t",
        "column 't' is string, the field of topic 'imu' is float64: allowed is DOUBLE",
    ),
    (
        {"acc": T.DoubleType()},
        "acc",
        "column 'acc' is double, the field of topic 'imu' is .*: allowed is ARRAY",
    ),
    ({"acc": T.ArrayType(T.StringType())}, r"acc\[\]", r"column 'acc\[\]' is string.*: allowed is DOUBLE"),
    ({"n": T.DoubleType()}, "n", "allowed is TINYINT, SMALLINT, INT, BIGINT or DECIMAL"),
    ({"n": T.DecimalType(10, 2)}, "n", "decimal"),
    ({"name": T.BinaryType()}, "name", "allowed is STRING"),
    (
        {"speed": T.DoubleType()},
        "speed",
        "'speed' is not a field of topic 'imu': its fields are t, acc, n, name",
    ),
    (
        {"value": T.BinaryType()},
        "value",
        "'value' is not a field of topic 'imu': .* set option valueFormat=raw",
    ),
    ({"type": T.LongType()}, "type", "not string"),
    (
        {"n": None},
        "n",
        "column 'n' is missing: topic 'imu' has the fields t, acc, n, name, and this one is uint8",
    ),
]


@pytest.mark.parametrize(("change", "argument", "why"), WRONG, ids=lambda value: str(value)[:40])
def test_a_column_that_does_not_fit_the_schema_is_refused_with_both_types(
    options, bus, change, argument, why
):
    bus.create("imu", schema=IMU)
    columns = {name: kind for name, kind in {**COLUMNS, **change}.items() if kind is not None}
    with pytest.raises(slipring.BadArgument, match=why) as caught:
        check_schema(schema(**columns), options(topic="imu"))
    assert caught.value.argument == argument.replace("\\", "")


def test_fields_with_a_default_may_be_missing_and_columns_of_the_source_are_ignored(options, bus):
    bus.create("pose", schema=Pose)
    head = {"offset": T.LongType(), "topic": T.StringType(), "sender": T.StringType(), "host": T.StringType()}
    check_schema(schema(**head, X=T.FloatType(), who=T.StringType()), options(topic="pose"))


def test_the_option_value_format_has_two_values(options):
    with pytest.raises(slipring.BadArgument, match="valueFormat='json' must be auto") as caught:
        options(valueFormat="json")
    assert caught.value.argument == "valueFormat"


def test_a_query_with_wrong_columns_ends_before_a_row_is_published(spark, bus):
    bus.create("imu", schema=IMU)
    frame = spark.range(3).selectExpr(
        "cast(id as string) as t", "array(1d, 2d) as acc", "id as n", "'a' as name"
    )
    with pytest.raises(PySparkException, match="column 't' is string, the field of topic 'imu' is float64"):
        frame.write.format("slipring").mode("append").options(bus=bus.name, root=bus.root, topic="imu").save()
    assert bus.stats("imu")["tail"] == 0


# Rows

BAD = [
    ({"n": [1, None]}, "n", "column n has NULL, which the schema does not allow"),
    ({"n": [1, 300]}, "n", "column n .*300"),
    ({"acc": [[1.0, 2.0], [3.0]]}, "acc", "column acc"),
    ({"acc": [[1.0, None], [3.0, 4.0]]}, r"acc\[\]", "NULL"),
    (
        {"acc": [[1.0, 1e300], [3.0, 4.0]]},
        "acc",
        r"column acc .*: value 1e\+300 is beyond the range of float",
    ),
    ({"name": ["a", "gyros"]}, "name", r"name='gyros' must be str\[<=4\]"),
    ({"name": ["a", "b\0"]}, "name", "must be str"),
]


@pytest.mark.parametrize(("change", "argument", "why"), BAD, ids=lambda value: str(value)[:40])
def test_a_value_that_does_not_fit_is_refused_with_topic_column_and_value(staged, bus, change, argument, why):
    bus.create("imu", schema=IMU)
    with pytest.raises(slipring.BadArgument, match=f"topic 'imu': .*{why}") as caught:
        staged({**GOOD, **change}, topic="imu")
    assert caught.value.argument == argument.replace("\\", "")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([b"abc", b"a"], "widths must match"),
        ([b"ab", b"abc"], "widths must match"),
        ([b"ab", None], "has NULL"),
    ],
)
def test_bytes_of_another_size_are_refused(staged, bus, values, why):
    bus.create("code", schema=numpy.dtype([("code", "V2"), ("n", "S2")]))
    with pytest.raises(slipring.BadArgument, match=f"topic 'code': column code .*{why}"):
        staged({"code": pa.array(values, pa.binary()), "n": pa.array([b"a", b"b"])}, topic="code")


def test_rows_of_a_fixed_layout_are_encoded_by_columns(staged, bus):
    bus.create("imu", schema=IMU)
    found = staged({**GOOD, "type": ["x", None], "offset": [7, 8]}, topic="imu")
    want = numpy.array(list(zip(*GOOD.values(), strict=True)), object)
    assert [numpy.frombuffer(row["value"], IMU)[0].tolist()[0] for row in found] == [row[0] for row in want]
    assert [row["type"] for row in found] == ["x", ""]


def test_raw_publishes_the_bytes_of_value_to_a_typed_topic(staged, options, bus):
    bus.create("imu", schema=IMU)
    check_schema(schema(value=T.BinaryType()), options(topic="imu", valueFormat="raw"))
    (row,) = staged({"value": [b"any"]}, topic="imu", valueFormat="RAW")
    assert row["value"] == b"any"


def test_a_column_topic_names_topics_of_several_schemas_and_their_rows_keep_their_order(staged, options, bus):
    bus.create("a", schema=numpy.dtype([("x", "<i2")]))
    bus.create("b", schema=numpy.dtype([("x", "<i4")]))
    check_schema(schema(topic=T.StringType(), x=T.LongType()), options())
    found = staged({"topic": ["b", "a", "b"], "x": [1, 2, 3]})
    assert [(row["topic"], int.from_bytes(row["value"], "little")) for row in found] == [
        ("b", 1),
        ("a", 2),
        ("b", 3),
    ]
    assert [len(row["value"]) for row in found] == [4, 2, 4]
    with pytest.raises(slipring.BadArgument, match="the sink needs a column 'value'"):
        staged({"topic": ["bytes"], "x": [1]})
    with pytest.raises(slipring.BadArgument, match="column 'value' is not a field of topic 'a'"):
        staged({"topic": ["a"], "value": [b"x"]})


def test_rows_with_the_same_type_and_sender_are_messages_of_encoding_arrow(staged, bus):
    arrow = pa.schema([pa.field("x", pa.int64(), False)])
    bus.create("rows", schema=arrow, capacity="64KiB")
    found = staged({"x": list(range(5000)), "type": ["a"] * 4999 + ["b"]}, topic="rows")
    sizes = [len(row["value"]) for row in found]
    assert len(found) > 3 and max(sizes) <= 16384 and [row["type"] for row in found][-1] == "b"
    batches = [pa.ipc.read_record_batch(pa.py_buffer(row["value"]), arrow) for row in found]
    assert [x for batch in batches for x in batch.column(0).to_pylist()] == list(range(5000))


def test_structures_are_taken_by_the_names_of_their_fields(staged, bus):
    class Part(NamedTuple):
        a: int
        b: int | None

    class Whole(NamedTuple):
        part: Part | None

    bus.create("whole", schema=Whole)
    kind = pa.struct([("b", pa.int32()), ("a", pa.int16())])
    parts = pa.array([{"a": 1, "b": 2}, None, {"a": 3, "b": None}], kind)
    found = [msgspec.msgpack.decode(row["value"])["part"] for row in staged({"part": parts}, topic="whole")]
    assert found == [{"a": 1, "b": 2}, None, {"a": 3, "b": None}]
    alone = pa.array([{"a": 1}], pa.struct([("a", pa.int64())]))
    (row,) = staged({"part": alone}, topic="whole")
    assert msgspec.msgpack.decode(row["value"])["part"] == {"a": 1, "b": None}
    with pytest.raises(
        slipring.BadArgument, match=r"column 'part' is struct<c:bigint>.*STRUCT with the fields a, b"
    ):
        staged({"part": pa.array([{"c": 1}])}, topic="whole")


# Real Spark


def test_rows_of_every_type_return_equal_from_a_typed_topic(spark, bus):
    given = dataclasses.replace(samples.everything(), when_ns=5000, long_ns=-7000)
    bus.publisher("all", schema=samples.Everything).send(given)
    bus.create("copy", schema=samples.Everything)
    place = {"bus": bus.name, "root": bus.root}
    frame = spark.read.format("slipring").options(**place, subscribe="all").load()
    frame.write.format("slipring").mode("append").options(**place, topic="copy").save()
    sub = bus.subscriber("copy", start="oldest", schema=samples.Everything)
    assert sub.recv(0).value == given and sub.recv(0) is None


class Order(NamedTuple):
    id: int
    price: Annotated[decimal.Decimal, "decimal(10, 2)"]
    at: datetime.datetime
    tags: list[str] = []  # noqa: RUF012


def test_a_stream_into_a_typed_topic_publishes_each_row_once(spark, bus, tmp_path):
    bus.create("orders", schema=Order, delivery="reliable", capacity="4MiB")
    sub = bus.subscriber("orders", schema=Order)
    source = bus.publisher("in", schema=numpy.dtype([("id", "<i8")]), delivery="reliable", capacity="4MiB")
    place = {"bus": bus.name, "root": bus.root}
    stream = spark.readStream.format("slipring").options(
        **place, subscribe="in", groupId="g", startingOffsets="earliest"
    )
    rows = stream.load().selectExpr("id", "cast(id as decimal(12,2)) / 4 as p", "timestamp_seconds(id) as at")
    rows = rows.selectExpr("id", "cast(p as decimal(12,2)) as price", "at")
    writer = rows.writeStream.format("slipring").options(**place, topic="orders")
    writer = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    for count in (10, 20):
        source.send_many([{"id": n} for n in range(count - 10, count)])
        writer.start().awaitTermination()
    found = [msg.value for msg in sub.recv_many(99, timeout=0)]
    assert [one.id for one in found] == list(range(20)) and found[5].price == decimal.Decimal("1.25")
    assert found[5].at == datetime.datetime(1970, 1, 1, 0, 0, 5, tzinfo=datetime.UTC) and found[5].tags == []


def test_rows_encoded_for_a_topic_that_was_replaced_are_not_published(spark, bus):
    from slipring.spark.sink import writer as writers

    bus.create("imu", schema=IMU)
    made = DefaultSource({"bus": bus.name, "root": bus.root, "topic": "imu"})
    frame = schema(**COLUMNS)
    writer = made.writer(frame, False)
    staged = writers.Staged("txn-x", 0, writers.Part("x", 1, 1), ("imu",), {"imu": declare(IMU).hash})
    bus.remove("imu")
    with pytest.raises(slipring.SchemaMismatch, match="topic 'imu' was removed or created again"):
        writer.commit([staged])
    assert bus.topics() == []
