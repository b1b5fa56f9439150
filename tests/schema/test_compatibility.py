# SPDX-License-Identifier: Apache-2.0
"""Which schemas go together: refused when they are compared, never when a message comes."""

import dataclasses
import decimal
import enum
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
import pytest

import slipring
from schema import foreign, samples
from slipring._bus.schema.codec import Decoder, Encoder
from slipring._bus.schema.compatibility import check_same, view
from slipring._bus.schema.declare import declare


def of(hint, **default):
    options = [field(**default)] if default else []
    return declare(make_dataclass("Made", [("a", hint, *options)]))


@pytest.mark.parametrize("way", samples.WAYS)
def test_a_schema_goes_with_itself_however_it_is_declared(way):
    check_same(declare(samples.in_a_dataclass()[0]), declare(samples.WAYS[way]()[0]))


def test_names_of_classes_may_differ():
    other = dataclasses.make_dataclass("Other", [("a", int)])
    check_same(of(int), declare(other))


class Narrow(enum.Enum):
    RED = "r"


@dataclass
class Point:
    x: float
    y: float


DIFFERENT = [
    (of(int), of(float), "a", "int64", "float64"),
    (of(int), of(int | None), "a", "int64", "int64 | None"),
    (of(int), of(int, default=1), "a", "int64", "int64 = 1"),
    (of(int, default=1), of(int, default=2), "a", "int64 = 1", "int64 = 2"),
    (of(list[int]), of(list[float]), "a[]", "int64", "float64"),
    (of(dict[str, int]), of(dict[str, float]), "a[]", "int64", "float64"),
    (of(tuple[int, int]), of(tuple[int, int, int]), "a", "array[int64, 2]", "array[int64, 3]"),
    (of(samples.Colour), of(Narrow), "a", "enum[RED='r', GREEN='g']", "enum[RED='r']"),
    (of(Point), of(samples.Inner), "a.x", "float64", "no such field"),
    (of(int), declare(make_dataclass("M", [("a", int), ("b", str)])), "b", "no such field", "str"),
    (declare(make_dataclass("M", [("a", int), ("b", str)])), of(int), "b", "str", "no such field"),
    (
        declare(make_dataclass("M", [("a", int), ("b", int)])),
        declare(make_dataclass("M", [("b", int), ("a", int)])),
        "a",
        "field 1",
        "field 2",
    ),
    (of(int), declare(make_dataclass("M", [("a", int)]), "json"), "", "encoding msgpack", "encoding json"),
    (
        declare(np.dtype([("a", "i1"), ("b", "i4")])),
        declare(np.dtype([("a", "i1"), ("b", "i4")], align=True)),
        "",
        "5 bytes",
        "8 bytes",
    ),
    (
        declare(np.dtype({"names": ["a", "b"], "formats": ["i1", "i1"], "offsets": [0, 1], "itemsize": 4})),
        declare(np.dtype({"names": ["a", "b"], "formats": ["i1", "i1"], "offsets": [0, 2], "itemsize": 4})),
        "b",
        "int8 at byte 1",
        "int8 at byte 2",
    ),
    (
        declare(pa.schema([("a", pa.string())])),
        declare(pa.schema([("a", pa.large_string())])),
        "a",
        "string",
        "large_string",
    ),
]


@pytest.mark.parametrize(("found", "asked", "path", "one", "other"), DIFFERENT)
def test_the_first_difference_is_named_with_both_types(found, asked, path, one, other):
    with pytest.raises(slipring.SchemaMismatch) as caught:
        check_same(found, asked)
    assert (caught.value.field, caught.value.found, caught.value.asked) == (path, one, other)
    assert one in str(caught.value) or other in str(caught.value)


def test_another_number_of_a_protobuf_field_is_another_schema():
    changed = foreign.imu_file()
    changed.message_type[0].field[0].number = 99
    other = foreign.message_class("robot.Imu", foreign.point_file(), changed)
    check_same(declare(foreign.imu()), declare(foreign.imu()))
    for use in (
        lambda: check_same(declare(foreign.imu()), declare(other)),
        lambda: Encoder(declare(foreign.imu()), other),
        lambda: Decoder(declare(foreign.imu()), other),
    ):
        with pytest.raises(slipring.SchemaMismatch) as caught:
            use()
        assert caught.value.field in ("t", "acc")


def test_another_number_of_a_flat_field_is_another_schema():
    one, other = (
        "table R { a: int (id: 0); b: int (id: 1); } root_type R;",
        "table R { a: int; b: int; c: int; } root_type R;",
    )
    with pytest.raises(slipring.SchemaMismatch, match="field c"):
        check_same(declare(foreign.bfbs(one)), declare(foreign.bfbs(other)))
    swapped = "table R { z: int (deprecated); a: int; b: int; } root_type R;"
    with pytest.raises(slipring.SchemaMismatch) as caught:
        check_same(declare(foreign.bfbs(one)), declare(foreign.bfbs(swapped)))
    assert (caught.value.field, caught.value.found, caught.value.asked) == (
        "a",
        "int32 number 0",
        "int32 number 1",
    )


READABLE = [
    (int, int),
    (Annotated[int, "int32"], int),
    (Annotated[int, "uint8"], Annotated[int, "int16"]),
    (Annotated[int, "uint32"], int),
    (Annotated[float, "float32"], float),
    (int, int | None),
    (int | None, int | None),
    (Annotated[int, "int8"], int | None),
    (list[Annotated[int, "int8"]], list[int]),
    (tuple[int, int], list[int]),
    (tuple[tuple[int, int], tuple[int, int]], list[list[int]]),
    (dict[str, Annotated[float, "float16"]], dict[str, float]),
    (Narrow, samples.Colour),
    (Literal["a"], Literal["b", "a"]),
    (Annotated[str, "str[<=4]"], str),
    (Annotated[bytes, "bytes[4]"], bytes),
    (Annotated[decimal.Decimal, "decimal(5, 2)"], Annotated[decimal.Decimal, "decimal(10, 4)"]),
]
UNREADABLE = [
    (int, Annotated[int, "int32"], "a"),
    (Annotated[int, "int8"], Annotated[int, "uint8"], "a"),
    (int, float, "a"),
    (int, Annotated[int, "uint64"], "a"),
    (float, Annotated[float, "float32"], "a"),
    (int | None, int, "a"),
    (list[int], tuple[int, int], "a"),
    (list[int | None], list[int], "a[]"),
    (str, bytes, "a"),
    (str, samples.Colour, "a"),
    (samples.Colour, Narrow, "a"),
    (samples.Colour, str, "a"),
    (str, Annotated[str, "str[<=4]"], "a"),
    (tuple[int, int], tuple[int, int, int], "a"),
    (Point, samples.Inner, "a.number"),
    (int, Point, "a"),
    (Annotated[decimal.Decimal, "decimal(5, 2)"], Annotated[decimal.Decimal, "decimal(5, 3)"], "a"),
    (dict[str, Point], dict[str, samples.Inner], "a[].number"),
]


@pytest.mark.parametrize(("found", "own"), READABLE)
def test_a_wider_type_reads_the_topic(found, own):
    view(of(found), of(own))


@pytest.mark.parametrize(("found", "own", "path"), UNREADABLE)
def test_a_type_that_loses_values_is_refused_when_the_view_is_made(found, own, path):
    with pytest.raises(slipring.SchemaMismatch) as caught:
        Decoder(of(found), of(own))
    assert caught.value.field == path


@dataclass
class Fewer:
    at: Point
    t: float


@dataclass
class More:
    t: float
    tags: list[str]
    extra: str = "none"
    more: list[int] = field(default_factory=lambda: [1])


@dataclass
class Demanding:
    t: float
    extra: str


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
@pytest.mark.parametrize("way", samples.WAYS)
def test_a_class_may_have_fewer_fields_or_more_with_defaults(way, encoding):
    cls, value, _ = samples.an_imu(way)
    schema = declare(cls, encoding)
    body = Encoder(schema).encode(value)
    assert Decoder(schema, Fewer).decode(body) == Fewer(Point(0.5, -0.5), 1.5)
    assert Decoder(schema, More).decode(body) == More(1.5, ["a", "ü"])
    with pytest.raises(slipring.SchemaMismatch, match="which has no default") as caught:
        Decoder(schema, Demanding)
    assert (caught.value.field, caught.value.found, caught.value.asked) == ("extra", "no such field", "str")


def test_a_publisher_with_another_class_is_refused():
    schema = declare(samples.Inner)
    with pytest.raises(slipring.SchemaMismatch, match="field number"):
        Encoder(schema, Fewer)
    Encoder(schema, samples.Inner)


def test_a_class_reads_flatbuffers_and_protobuf():
    @dataclass
    class Part:
        x: Annotated[float, "float32"]
        y: int

    @dataclass
    class Imu:
        t: float
        name: str | None
        at: Part | None

    flat = declare(foreign.bfbs())
    assert Decoder(flat, Imu).decode(Encoder(flat).encode(foreign.FLAT_IMU)) == Imu(1.5, "ü", Part(0.5, -7))

    @dataclass
    class OfProto:
        t: float
        acc: list[float]
        count: Annotated[int, "uint64"]

    proto = declare(foreign.imu())
    assert Decoder(proto, OfProto).decode(Encoder(proto).encode(foreign.IMU)) == OfProto(
        1.5, [0.5, 1.5], (1 << 64) - 1
    )
