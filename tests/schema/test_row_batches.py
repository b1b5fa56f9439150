# SPDX-License-Identifier: Apache-2.0
"""Many bodies as columns, and rows as bodies: a bad body does not stop the others."""

import dataclasses
import datetime
import decimal
from dataclasses import dataclass, make_dataclass
from typing import Annotated

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import slipring
from schema import foreign, samples, strategies
from slipring._bus.schema.codec import Decoder, Encoder
from slipring._bus.schema.declare import declare
from slipring._bus.schema.encodings import numpy_bodies
from slipring._bus.schema.row_batches import BatchDecoder, decode_batch, rows_to_bodies
from slipring._bus.schema.topic_schema import Schema

QUICK = settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
def test_objects_become_rows_and_rows_the_same_bodies(encoding):
    schema = declare(samples.Everything, encoding)
    encode = Encoder(schema).encode
    bodies = [encode(samples.everything()), encode(dataclasses.replace(samples.everything(), i8=5, maybe=9))]
    found = decode_batch(schema, bodies)
    found.batch.validate(full=True)
    assert found.batch.schema == schema.arrow
    assert (found.rows, found.bad) == (None, {})
    assert found.batch["i8"].to_pylist() == [-128, 5]
    assert found.batch["maybe"].to_pylist() == [None, 9]
    assert found.batch["key"].to_pylist() == ["00000000-0000-0000-0000-000000000005"] * 2
    assert found.batch["price"].to_pylist() == [decimal.Decimal("-12345678.90")] * 2
    assert found.batch["u64"].to_pylist() == [(1 << 64) - 1] * 2
    assert rows_to_bodies(schema, found.batch) == bodies
    assert decode_batch(schema, pa.array(bodies, pa.binary())).batch == found.batch
    assert decode_batch(schema, [memoryview(body) for body in bodies]).batch == found.batch


@given(st.data())
@settings(QUICK)
def test_rows_of_any_type_come_back(data):
    encoding = data.draw(st.sampled_from(["msgpack", "numpy"]))
    root = data.draw(strategies.FIXED_ROOTS if encoding == "numpy" else strategies.ROOTS)
    extra = {"layout": strategies.packed_layout(root)} if encoding == "numpy" else {}
    schema = Schema("Made", encoding, root, extra)
    values = data.draw(st.lists(strategies.values(root), max_size=3))
    encode = Encoder(schema).encode
    bodies = [encode(value) for value in values]
    found = decode_batch(schema, bodies)
    assert not found.bad
    found.batch.validate(full=True)
    assert found.batch.schema == schema.arrow
    again = [bytes(body) for body in rows_to_bodies(schema, found.batch)]
    decode = Decoder(schema).decode
    if encoding == "numpy":
        assert again == bodies
    else:
        assert all(strategies.same(decode(body), value) for body, value in zip(again, values, strict=True))


DTYPE = np.dtype(
    [("t", "<f8"), ("acc", "<f4", (3,)), ("ok", "?"), ("name", "U2"), ("p", [("x", "i1"), ("v", "V2")])],
    align=True,
)


def records(count):
    array = np.zeros(count, DTYPE)
    array["t"] = np.arange(count)
    array["acc"] = np.arange(3 * count).reshape(count, 3)
    array["ok"] = np.arange(count) % 2
    array["name"] = "ü"
    array["p"]["x"] = np.arange(count) % 100
    return array


def test_records_become_columns_in_one_pass():
    schema, array = declare(DTYPE), records(5)
    bodies = [array[at].tobytes() for at in range(5)]
    for given_bodies in (
        bodies,
        pa.array(bodies, pa.binary()),
        pa.array(bodies, pa.large_binary()),
        pa.array([b"", *bodies, b"x"])[1:6],
    ):
        found = decode_batch(schema, given_bodies)
        found.batch.validate(full=True)
        assert found.rows is None
        assert found.batch.schema == schema.arrow
        assert found.batch["t"].to_pylist() == [0, 1, 2, 3, 4]
        assert found.batch["acc"].to_pylist()[1] == [3, 4, 5]
        assert found.batch["p"].to_pylist()[4] == {"x": 4, "v": b"\0\0"}
    assert [bytes(body) for body in rows_to_bodies(schema, found.batch)] == bodies
    assert decode_batch(schema, []).batch.num_rows == 0
    assert rows_to_bodies(schema, found.batch.slice(0, 0)) == []
    number = declare("<i2")
    assert decode_batch(number, [b"\1\0", b"\2\0"]).batch.to_pydict() == {"value": [1, 2]}
    grid = declare(np.dtype(("<i2", (2,))))
    found = decode_batch(grid, [b"\1\0\2\0"])
    assert found.batch.to_pydict() == {"value": [[1, 2]]}
    assert [bytes(body) for body in rows_to_bodies(grid, found.batch)] == [b"\1\0\2\0"]


def test_a_bool_is_true_for_each_byte_but_zero():
    assert decode_batch(declare(np.dtype([("ok", "?")])), [b"\0", b"\1", b"\xff"]).batch.to_pydict() == {
        "ok": [False, True, True]
    }


def test_not_a_time_is_null():
    schema = declare(np.dtype([("when", "M8[us]"), ("long", "m8[ns]")]))
    array = np.array([("2026-01-01", 5), ("NaT", "NaT")], numpy_bodies.numpy_layout.to_dtype(schema))
    found = decode_batch(schema, [array[0].tobytes(), array[1].tobytes()])
    assert found.batch["when"].null_count == found.batch["long"].null_count == 1
    assert b"".join(rows_to_bodies(schema, found.batch)) == array.tobytes()


def a_bad_and_two_good():
    array = records(2)
    bad = bytearray(array[0].tobytes())
    bad[DTYPE.fields["name"][1] + 3] = 0xFF
    inner = declare(samples.Inner)
    encode = Encoder(inner).encode
    arrow = declare(pa.schema([("a", pa.int8())]))
    imu, flat = declare(foreign.imu()), declare(foreign.bfbs())
    proto, table = Encoder(imu).encode(foreign.IMU), Encoder(flat).encode(foreign.FLAT_IMU)
    return {
        "msgpack": (inner, [encode(samples.Inner(1)), b"\xc1", encode(samples.Inner(2))]),
        "msgpack range": (
            inner,
            [encode(samples.Inner(1)), msgspec.msgpack.encode({"number": 1 << 40}), encode(samples.Inner(2))],
        ),
        "numpy size": (declare(DTYPE), [array[0].tobytes(), b"", array[1].tobytes()]),
        "numpy text": (declare(DTYPE), [array[0].tobytes(), bytes(bad), array[1].tobytes()]),
        "arrow": (
            arrow,
            [
                Encoder(arrow).encode({"a": 1}).to_pybytes(),
                b"x" * 20,
                Encoder(arrow).encode({"a": 2}).to_pybytes(),
            ],
        ),
        "protobuf": (imu, [proto, b"\xff", proto]),
        "flatbuffers": (flat, [table, b"\xff" * 9, table]),
    }


@pytest.mark.parametrize("case", a_bad_and_two_good())
def test_a_bad_body_is_reported_and_the_others_are_rows(case):
    schema, bodies = a_bad_and_two_good()[case]
    decoder = BatchDecoder(schema)
    for given_bodies in (bodies, pa.array(bodies, pa.binary())):
        found = decoder.decode(given_bodies)
        assert found.rows == [0, 2]
        assert list(found.bad) == [1]
        assert isinstance(found.bad[1], slipring.Undecodable)
        assert found.batch.num_rows == 2
        assert found.batch.schema == schema.arrow
    found = decoder.decode(pa.array([bodies[0], None], pa.binary()))
    assert found.rows == [0] and "NULL" in str(found.bad[1])


def test_a_value_that_arrow_does_not_have_is_bad():
    cls = make_dataclass(
        "Made",
        [
            ("when", Annotated[int, "timestamp[ns]"]),
            ("day", datetime.date),
            ("price", Annotated[decimal.Decimal, "decimal(5, 2)"]),
        ],
    )
    schema = declare(cls)
    encode = Encoder(schema).encode
    rows = [
        cls(1, datetime.date.min, decimal.Decimal("1E+2")),
        cls(2, datetime.date.max, decimal.Decimal("0E-9")),
    ]
    found = decode_batch(schema, [encode(row) for row in rows])
    assert found.batch["price"].to_pylist() == [decimal.Decimal("100.00"), decimal.Decimal("0.00")]


def test_batches_of_several_rows_name_their_body():
    schema = declare(pa.schema([("a", pa.int8())]))
    encode = Encoder(schema).encode
    bodies = [encode([{"a": 1}, {"a": 2}]), encode([]), encode({"a": 3})]
    found = decode_batch(schema, bodies)
    assert found.rows == [0, 0, 2]
    assert found.batch.to_pydict() == {"a": [1, 2, 3]}
    assert len(rows_to_bodies(schema, found.batch)) == 1
    assert decode_batch(schema, []).batch.schema == schema.arrow


@dataclass
class Row:
    a: Annotated[int, "uint8"]
    acc: tuple[float, float]
    text: str = "none"


def test_rows_of_other_types_are_cast_where_nothing_is_lost():
    schema = declare(Row)
    batch = pa.record_batch({"acc": pa.array([[1, 2], [3, 4]]), "a": pa.array([1, 255], pa.int64())})
    decode = Decoder(schema, Row).decode
    assert [decode(body) for body in rows_to_bodies(schema, batch)] == [
        Row(1, (1.0, 2.0)),
        Row(255, (3.0, 4.0)),
    ]
    for name, column, match in (
        ("a", pa.array([1, 256]), "does not fit uint8"),
        ("a", pa.array(["x", "y"]), "does not fit"),
        ("a", pa.array([1, None]), "has NULL"),
        ("zz", pa.array([1, 2]), "not in the schema"),
        ("acc", pa.array([[1.0], [2.0]]), "does not fit"),
    ):
        columns = dict(zip(batch.schema.names, batch.columns, strict=True)) | {name: column}
        with pytest.raises(slipring.BadArgument, match=match) as caught:
            rows_to_bodies(schema, pa.record_batch(columns))
        assert caught.value.argument == name
    with pytest.raises(slipring.BadArgument, match="column a is missing"):
        rows_to_bodies(schema, batch.select(["acc"]))


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        (Annotated[float, "float32"], pa.array([0.5, 1e39])),
        (Annotated[float, "float16"] | None, pa.array([None, 70000.0])),
        (list[Annotated[float, "float32"]], pa.array([[0.5], [-1e39]])),
        (
            dict[str, Annotated[float, "float32"]],
            pa.array([[("a", 1e39)]], pa.map_(pa.string(), pa.float64())),
        ),
        (samples.in_a_dataclass()[1], pa.array([None, {"x": 0.5, "y": 1e39}])),
    ],
    ids=str,
)
def test_a_float_in_a_column_is_refused_before_it_becomes_infinite(kind, column):
    schema = declare(make_dataclass("Made", [("a", kind)]))
    with pytest.raises(slipring.BadArgument, match=r"column a .* is beyond the range of") as caught:
        rows_to_bodies(schema, pa.record_batch({"a": column}))
    assert caught.value.argument == "a"


def test_infinite_floats_and_optional_structures_become_rows():
    schema = declare(make_dataclass("Made", [("a", samples.in_a_dataclass()[1] | None)]))
    column = pa.array([None, {"y": float("-inf"), "x": 0.5}, {"x": float("nan"), "y": 0.5}, None])
    bodies = rows_to_bodies(schema, pa.record_batch({"a": column}).slice(1))
    found = [msgspec.msgpack.decode(body)["a"] for body in bodies]
    assert found[0] == {"x": 0.5, "y": float("-inf")} and str(found[1]["x"]) == "nan" and found[2] is None


def test_a_row_that_does_not_fit_is_named():
    schema = declare(make_dataclass("Made", [("colour", samples.Colour)]), "json")
    batch = pa.record_batch({"colour": ["r", "x"]})
    with pytest.raises(slipring.BadArgument, match="row 1: colour='x'") as caught:
        rows_to_bodies(schema, batch)
    assert caught.value.argument == "colour"


def test_rows_become_foreign_messages():
    for schema, content in (
        (declare(foreign.imu()), foreign.IMU),
        (declare(foreign.bfbs()), foreign.FLAT_IMU),
    ):
        body = Encoder(schema).encode(content)
        found = decode_batch(schema, [body])
        assert rows_to_bodies(schema, found.batch) == [body]
