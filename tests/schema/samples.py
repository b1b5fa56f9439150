# SPDX-License-Identifier: Apache-2.0
"""One structure declared in four ways, and classes with all types."""

import datetime
import decimal
import enum
import uuid
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple, TypedDict

import msgspec
import numpy as np

from slipring._bus.schema import field_types as ft
from slipring._bus.schema.topic_schema import Schema

UTC = datetime.UTC
MOMENT = datetime.datetime(2026, 11, 19, 4, 5, 6, 789, tzinfo=UTC)


class Colour(enum.Enum):
    RED = "r"
    GREEN = "g"


class Level(enum.IntEnum):
    LOW = -1
    HIGH = 1 << 40


def in_a_dataclass():
    @dataclass
    class Point:
        x: Annotated[float, "float32"]
        y: Annotated[float, "float32"]

    @dataclass
    class Imu:
        t: float
        acc: tuple[float, float, float]
        at: Point
        tags: list[str]
        limits: dict[str, int]
        note: str | None

    return Imu, Point


def in_a_struct():
    class Point(msgspec.Struct):
        x: Annotated[float, "float32"]
        y: Annotated[float, "float32"]

    class Imu(msgspec.Struct):
        t: float
        acc: tuple[float, float, float]
        at: Point
        tags: list[str]
        limits: dict[str, int]
        note: str | None

    return Imu, Point


def in_a_typed_dict():
    class Point(TypedDict):
        x: Annotated[float, "float32"]
        y: Annotated[float, "float32"]

    class Imu(TypedDict):
        t: float
        acc: tuple[float, float, float]
        at: Point
        tags: list[str]
        limits: dict[str, int]
        note: str | None

    return Imu, Point


def in_a_named_tuple():
    class Point(NamedTuple):
        x: np.float32
        y: np.float32

    class Imu(NamedTuple):
        t: float
        acc: tuple[float, float, float]
        at: Point
        tags: list[str]
        limits: dict[str, int]
        note: str | None

    return Imu, Point


WAYS = {
    "dataclass": in_a_dataclass,
    "struct": in_a_struct,
    "typed dict": in_a_typed_dict,
    "named tuple": in_a_named_tuple,
}


def an_imu(way: str):
    """An object of the class, and the dict of its plain values."""
    imu, point = WAYS[way]()
    value = imu(
        t=1.5,
        acc=(0.5, 1.0, 9.75),
        at=point(x=0.5, y=-0.5),
        tags=["a", "ü"],
        limits={"low": -1, "high": 1 << 60},
        note=None,
    )
    plain = {
        "t": 1.5,
        "acc": [0.5, 1.0, 9.75],
        "at": {"x": 0.5, "y": -0.5},
        "tags": ["a", "ü"],
        "limits": {"low": -1, "high": 1 << 60},
        "note": None,
    }
    return imu, value, plain


@dataclass
class Inner:
    number: Annotated[int, "int16"]
    text: str = "default"


@dataclass
class Everything:
    """Each type that a class can declare, with a default where it has one."""

    i8: Annotated[int, "int8"]
    i16: Annotated[int, "int16"]
    i32: Annotated[int, "int32"]
    i64: int
    u8: Annotated[int, "uint8"]
    u16: Annotated[int, "uint16"]
    u32: Annotated[int, "uint32"]
    u64: Annotated[int, "uint64"]
    f16: Annotated[float, "float16"]
    f32: Annotated[float, "float32"]
    f64: float
    flag: bool
    text: str
    blob: bytes
    when: datetime.datetime
    when_ns: Annotated[int, "timestamp[ns]"]
    day: datetime.date
    long: datetime.timedelta
    long_ns: Annotated[int, "duration[ns]"]
    key: uuid.UUID
    price: Annotated[decimal.Decimal, "decimal(10, 2)"]
    colour: Colour
    level: Level
    mode: Literal["slow", "fast"]
    maybe: int | None
    many: list[Inner]
    three: tuple[float, float, float]
    grid: Annotated[list[list[int]], "shape(2, 3)"]
    long_row: Annotated[list[float], "shape(12)"]
    by_name: dict[str, Inner | None]
    inner: Inner
    short: Annotated[str, "str[<=4]"]
    code: Annotated[bytes, "bytes[4]"]
    name: Annotated[bytes, "bytes[<=4]"]
    with_default: int = 7
    empty: list[float] = field(default_factory=list)
    not_a_number: float = float("nan")
    nothing: str | None = None
    of_class: Inner = field(default_factory=lambda: Inner(3))
    first: Colour = Colour.RED
    start: datetime.datetime = MOMENT
    zero: Annotated[decimal.Decimal, "decimal(3, 1)"] | None = None
    pairs: dict[str, float] = field(default_factory=lambda: {"a": 0.5})


def everything() -> Everything:
    return Everything(
        i8=-128,
        i16=1 << 14,
        i32=-(1 << 31),
        i64=(1 << 63) - 1,
        u8=255,
        u16=65535,
        u32=(1 << 32) - 1,
        u64=(1 << 64) - 1,
        f16=0.5,
        f32=-2.5,
        f64=1e300,
        flag=True,
        text="ü\0x",
        blob=b"\0\xff",
        when=MOMENT,
        when_ns=-5,
        day=datetime.date(2026, 11, 19),
        long=datetime.timedelta(days=-1, microseconds=3),
        long_ns=1 << 62,
        key=uuid.UUID(int=5),
        price=decimal.Decimal("-12345678.90"),
        colour=Colour.GREEN,
        level=Level.HIGH,
        mode="fast",
        maybe=None,
        many=[Inner(1), Inner(2, "b")],
        three=(1.0, 2.0, 3.0),
        grid=[[1, 2, 3], [4, 5, 6]],
        long_row=[float(x) for x in range(12)],
        by_name={"x": Inner(4), "none": None},
        inner=Inner(9, ""),
        short="abcd",
        code=b"abcd",
        name=b"abc",
        not_a_number=0.5,
    )


def schema_of_size(size: int) -> Schema:
    """A schema whose document has exactly so many bytes, at least 200."""

    def made(text: str) -> Schema:
        kind = ft.Struct((ft.Field("t", ft.Float()), ft.Field("why", ft.Enum((("A", text),)))), "Sized")
        return Schema("Sized", "msgpack", kind)

    return made("x" * (size - len(made("").to_bytes())))
