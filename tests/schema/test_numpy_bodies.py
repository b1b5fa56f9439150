# SPDX-License-Identifier: Apache-2.0
"""Encoding numpy: a body is one record; what does not fit names the field."""

import dataclasses
import datetime
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import slipring
from schema import samples, strategies
from slipring._bus.schema.codec import Decoder, Encoder
from slipring._bus.schema.declare import declare

QUICK = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))


@given(st.data())
@settings(QUICK)
def test_any_value_of_any_fixed_layout_comes_back(data):
    from slipring._bus.schema.encodings import numpy_bodies

    schema = strategies.schema_of("numpy", data.draw(strategies.FIXED_ROOTS))
    value = data.draw(strategies.values(schema.root))
    encode, decode = Encoder(schema).encode, Decoder(schema).decode
    body = encode(value)
    record = decode(body)
    assert strategies.same(numpy_bodies.plain(schema.root, record), value)
    assert encode(record) == body


DTYPE = np.dtype(
    [("t", "<f8"), ("acc", "<f4", (3,)), ("id", "u1"), ("name", "U4"), ("p", [("x", "i1")])], align=True
)
RECORD = {"t": 1.5, "acc": [1.0, 2.0, 3.0], "id": 7, "name": "ü", "p": {"x": -1}}


def test_a_record_and_a_dict_are_the_same_message():
    schema = declare(DTYPE)
    array = np.zeros(2, DTYPE)
    array[1] = (1.5, (1, 2, 3), 7, "ü", (-1,))
    body = Encoder(schema).encode(array[1])
    assert len(body) == DTYPE.itemsize
    assert Decoder(schema).decode(body) == array[1]
    assert Decoder(schema).decode(Encoder(schema).encode(RECORD)) == array[1]
    assert bytes(Encoder(schema).encode_array(array)) == array.tobytes()
    assert bytes(Encoder(schema).encode_array(array[::-1])) == array[::-1].tobytes()
    assert Encoder(schema).encode_array(array).obj is not None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": 256}, "id"),
        ({"id": -1}, "id"),
        ({"acc": [1, 2]}, "acc"),
        ({"acc": np.zeros((3, 1))}, "acc[0]"),
        ({"name": "abcde"}, "name"),
        ({"name": "a\0"}, "name"),
        ({"p": {"x": 128}}, "p.x"),
        ({"p": {}}, "p.x"),
        ({"zz": 1}, "zz"),
        ({"t": 1j}, "t"),
        ({"acc": [1e39, 0, 0]}, "acc[0]"),
    ],
)
def test_a_wrong_record_is_refused_with_its_field(change, field):
    with pytest.raises(slipring.BadArgument) as caught:
        Encoder(declare(DTYPE)).encode({**RECORD, **change})
    assert caught.value.argument == field


def test_records_of_another_dtype_are_converted_or_refused():
    schema = declare(np.dtype([("a", "i1")]))
    wide = np.zeros((), [("a", "i8")])
    assert Encoder(schema).encode(wide) == b"\0"
    wide["a"] = 300
    with pytest.raises(slipring.BadArgument, match="a=np"):
        Encoder(schema).encode(wide[()])
    with pytest.raises(slipring.BadArgument, match="b is not a field"):
        Encoder(schema).encode(np.zeros((), [("b", "i1")])[()])
    for wrong in (np.zeros(2, [("a", "i1")]), np.zeros(1), [1], (1,)):
        with pytest.raises(slipring.BadArgument):
            Encoder(schema).encode(wrong)
    with pytest.raises(slipring.BadArgument, match="an array of messages has dtype"):
        Encoder(schema).encode_array(np.zeros(3, "i1"))
    with pytest.raises(slipring.BadArgument, match="needs a schema of encoding numpy"):
        Encoder(declare(samples.Inner)).encode_array(np.zeros(3, "i1"))


def test_scalars_and_arrays_without_names():
    number = declare("<i2")
    assert Encoder(number).encode(5) == Encoder(number).encode(np.int16(5)) == b"\5\0"
    assert Decoder(number).decode(b"\5\0") == 5
    with pytest.raises(slipring.BadArgument, match="value=70000"):
        Encoder(number).encode(70000)
    grid = declare(np.dtype(("<f4", (2, 2))))
    body = Encoder(grid).encode([[1, 2], [3, 4]])
    assert body == Encoder(grid).encode(np.array([[1, 2], [3, 4]], "f4"))
    assert Decoder(grid).decode(body).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(slipring.BadArgument, match="with 2 items here"):
        Encoder(grid).encode(np.zeros((3, 2), "f4"))


@pytest.mark.parametrize("size", [0, 1, DTYPE.itemsize - 1, DTYPE.itemsize + 1])
def test_a_body_of_another_size_is_undecodable(size):
    with pytest.raises(slipring.Undecodable, match=f"the body has {size} bytes, a message of the schema has"):
        Decoder(declare(DTYPE)).decode(bytes(size))


def test_characters_that_unicode_does_not_have_are_undecodable():
    schema = declare(DTYPE)
    body = bytearray(Encoder(schema).encode(RECORD))
    at = DTYPE.fields["name"][1]
    for code in (0x110000, 0xD800, 0xFFFFFFFF):
        body[at : at + 4] = code.to_bytes(4, "little")
        with pytest.raises(slipring.Undecodable) as caught:
            Decoder(schema).decode(bytes(body))
        assert caught.value.field == "name"


def test_a_class_reads_records():
    @dataclass
    class Own:
        t: float
        acc: tuple[float, float, float]
        p: dict | None = None

    @dataclass
    class Part:
        x: int

    @dataclass
    class View:
        t: float
        p: Part
        missing: str = "none"

    body = Encoder(declare(DTYPE)).encode(RECORD)
    assert Decoder(declare(DTYPE), View).decode(body) == View(1.5, Part(-1))
    fewer = np.dtype([("id", "i4"), ("t", "<f8")])
    assert Decoder(declare(DTYPE), fewer).decode(body).item() == (7, 1.5)
    moments = declare(np.dtype([("when", "M8[us]")]))
    when = dataclasses.make_dataclass("When", [("when", datetime.datetime)])
    assert (
        Decoder(moments, when).decode(Encoder(moments).encode({"when": samples.MOMENT})).when
        == samples.MOMENT
    )
    for bad in (np.datetime64("NaT", "us"), np.datetime64(1 << 62, "us")):
        record = np.zeros((), [("when", "M8[us]")])
        record["when"] = bad
        with pytest.raises(slipring.Undecodable, match="when"):
            Decoder(moments, when).decode(record.tobytes())


def test_a_class_may_have_a_list_where_the_topic_has_an_array():
    @dataclass
    class Point:
        x: int
        extra: int = 5

    @dataclass
    class Own:
        acc: list[float]
        grid: list[list[int]]
        when: list[datetime.datetime]
        p: list[Point]

    dtype = np.dtype(
        [("acc", "<f4", (3,)), ("grid", "i1", (2, 2)), ("when", "M8[us]", (2,)), ("p", [("x", "i1")], (2,))]
    )
    schema = declare(dtype)
    found = Decoder(schema, Own).decode(bytes(dtype.itemsize))
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    assert found == Own([0.0] * 3, [[0, 0]] * 2, [epoch] * 2, [Point(0)] * 2)
