# SPDX-License-Identifier: Apache-2.0
"""Values decoded into typed columns, and values that do not decode."""

import datetime
import decimal
import struct

import msgspec
import numpy
import pyarrow as pa
import pytest
from pyspark.sql import types as T

from slipring.spark.decode import ddl
from slipring.spark.decode.decoder import Decoder
from slipring.spark.errors import BadValue
from slipring.spark.source import parsing, schema

NESTED = (
    "x INT, y DOUBLE, ok BOOLEAN, name STRING, raw BINARY, at TIMESTAMP, day DATE, price DECIMAL(10,2), "
    "tags ARRAY<STRING>, counts MAP<STRING, BIGINT>, pose STRUCT<a: FLOAT, b: STRUCT<c: TINYINT>>"
)
AT = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.UTC)
RECORD = {
    "x": -7,
    "y": 1.5,
    "ok": True,
    "name": "grüße",
    "raw": b"\0\1",
    "at": AT,
    "day": datetime.date(2026, 1, 2),
    "price": decimal.Decimal("12.34"),
    "tags": ["a", None],
    "counts": {"n": 2**40},
    "pose": {"a": 0.5, "b": {"c": 3}},
}


@pytest.fixture
def decoder(bus, bus_root):
    bus.create("imu")

    def make(**options):
        given = {"bus": "test", "root": str(bus_root), "subscribe": "imu", "columns": "offset"}
        found = parsing.parse({**given, **options})
        return Decoder(found.values, found.columns, schema.of_frame(found))

    return make


def messages(values):
    return pa.RecordBatch.from_pydict(
        {
            "offset": pa.array(range(100, 100 + len(values)), pa.int64()),
            "value": pa.array(values, pa.binary()),
        }
    )


def decoded(decoder, values):
    return decoder.decode("imu", messages(values)).to_pylist()


def arrow_bytes(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def arrow_of(x):
    return arrow_bytes(pa.table({"x": [x]}))


ENCODED = {
    "json": msgspec.json.encode,
    "msgpack": msgspec.msgpack.encode,
}


@pytest.mark.parametrize("name", ENCODED)
def test_every_type_is_decoded(decoder, name):
    rows = decoded(decoder(valueFormat=name, valueSchema=NESTED), [ENCODED[name](RECORD), ENCODED[name]({})])
    counts = [("n", 2**40)]
    assert rows == [{"offset": 100, **RECORD, "counts": counts}, {"offset": 101, **dict.fromkeys(RECORD)}]


def test_unknown_fields_of_json_are_ignored_and_missing_ones_are_null(decoder):
    rows = decoded(decoder(valueFormat="json", valueSchema="x INT, y INT"), [b'{"z": [1], "x": 3}'])
    assert rows == [{"offset": 100, "x": 3, "y": None}]


def test_numpy_records_are_decoded_by_columns(decoder):
    dtype = numpy.dtype(
        [
            ("x", ">f4"),
            ("n", "<u8"),
            ("at", "<M8[ns]"),
            ("name", "S4"),
            ("grid", "<i2", (2, 3)),
            ("inner", [("a", "i1"), ("b", "?")]),
        ]
    )
    records = numpy.zeros(3, dtype)
    records["x"] = [0.5, 1.5, 2.5]
    records["n"] = [2**64 - 1, 0, 1]
    records["at"] = numpy.datetime64("2026-01-02T03:04:05.678901234")
    records["name"] = b"gyro"
    records["grid"] = numpy.arange(18).reshape(3, 2, 3)
    records["inner"] = [(1, True)] * 3
    make = decoder(valueFormat="numpy", valueDtype=repr(dtype.descr))
    rows = decoded(make, [record.tobytes() for record in records])
    assert [row["x"] for row in rows] == [0.5, 1.5, 2.5]
    assert rows[0]["n"] == 2**64 - 1 and rows[0]["at"] == AT and rows[0]["name"] == b"gyro"
    assert rows[1]["grid"] == [[6, 7, 8], [9, 10, 11]] and rows[2]["inner"] == {"a": 1, "b": True}
    few = decoder(valueFormat="numpy", valueDtype=repr(dtype.descr), valueSchema="name STRING, x DOUBLE")
    assert decoded(few, [records[0].tobytes()]) == [{"offset": 100, "name": "gyro", "x": 0.5}]


def test_every_row_of_an_arrow_message_is_a_row(decoder):
    table = pa.table({"y": pa.array([1, 2], pa.int8()), "unasked": ["a", "b"]})
    make = decoder(valueFormat="arrow", valueSchema="x STRING, y BIGINT")
    rows = decoded(make, [arrow_bytes(table), arrow_bytes(table.slice(0, 0)), arrow_bytes(table.slice(1))])
    assert rows == [
        {"offset": 100, "x": None, "y": 1},
        {"offset": 100, "x": None, "y": 2},
        {"offset": 102, "x": None, "y": 2},
    ]


def test_a_function_of_the_user_decodes(decoder):
    make = decoder(valueFormat="spark.source.flatbuffers_like:decode", valueSchema="name STRING, x INT")
    assert decoded(make, [struct.pack("<i4s", 7, b"ab")]) == [{"offset": 100, "name": "ab", "x": 7}]


GOOD_AND_BAD = [
    ("json", {"valueSchema": "x TINYINT"}, b'{"x": 1}', [b"{", b'{"x": 300}', b'{"x": "1"}']),
    ("msgpack", {"valueSchema": "x TINYINT"}, msgspec.msgpack.encode({"x": 1}), [b"", b"\xc1"]),
    ("numpy", {"valueDtype": "[('x', 'i1')]"}, b"\1", [b"", b"\1\1"]),
    ("numpy", {"valueDtype": "[('x', 'u1')]", "valueSchema": "x TINYINT"}, b"\1", [b"\xff"]),
    ("arrow", {"valueSchema": "x TINYINT"}, arrow_of(1), [b"no", arrow_of(300)]),
    ("spark.source.flatbuffers_like:decode", {"valueSchema": "x TINYINT"}, struct.pack("<i4s", 1, b""), [b"?"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "good", "bad"), GOOD_AND_BAD, ids=lambda value: str(value)[:20])
def test_a_value_that_does_not_decode_stops_the_query_is_null_or_is_left_out(
    decoder, name, options, good, bad
):
    values = [good, None, *bad, good]
    last = 99 + len(values)
    with pytest.raises(BadValue) as caught:
        decoded(decoder(valueFormat=name, **options), values)
    assert caught.value.offset == 102 and caught.value.topic == "imu"
    assert "102" in str(caught.value) and "'imu'" in str(caught.value) and "PERMISSIVE" in str(caught.value)
    fine, hole = [{"offset": 100, "x": 1}], [{"offset": 101, "x": None}]
    nulls = [{"offset": 102 + at, "x": None} for at in range(len(bad))]
    end = [{"offset": last, "x": 1}]
    assert (
        decoded(decoder(valueFormat=name, mode="permissive", **options), values) == fine + hole + nulls + end
    )
    assert decoded(decoder(valueFormat=name, mode="dropmalformed", **options), values) == fine + hole + end
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        rows = decoded(decoder(valueFormat=name, mode=mode, **options), bad)
        assert len(rows) == (len(bad) if mode == "PERMISSIVE" else 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a int, b: string", T.StructType().add("a", T.IntegerType()).add("b", T.StringType())),
        ("`a b` DECIMAL", T.StructType().add("a b", T.DecimalType(10, 0))),
        ("m map<string,array<struct<x:double>>>", None),
    ],
)
def test_schemas_have_the_same_meaning_as_in_spark(text, expected):
    found = ddl.parse(text)
    assert expected is None or found == expected
    assert (
        ddl.parse(found.simpleString().removeprefix("struct<").removesuffix(">").replace("a b", "`a b`"))
        == found
    )
    assert ddl.parse(found.json()) == found


@pytest.mark.parametrize(
    "text",
    ["a", "a int b int", "a array<int", "a int,", "1 int", "a decimal(39,1)", "a ;", '{"fields": [1]}'],
)
def test_text_that_is_not_a_schema_is_refused(text):
    with pytest.raises(ddl.BadSchema):
        ddl.parse(text)


def test_decoded_batches_have_the_arrow_schema_that_spark_expects(bus, bus_root):
    """Spark compares the schema of the first batch with its own, including nullability."""
    from pyspark.sql.pandas.types import to_arrow_schema

    from slipring._bus.ranges import COLUMNS, RangeReader

    bus.publisher("t", sender="s").send(b"x")
    given = {"bus": "test", "root": str(bus_root), "subscribe": "t", "columns": ",".join(reversed(COLUMNS))}
    options = parsing.parse(given)
    with RangeReader(bus, "t") as reader:
        (batch,) = reader.batches(0, 1, options.columns)
    assert batch.schema.equals(to_arrow_schema(schema.of_frame(options), timezone="UTC"))
