# SPDX-License-Identifier: Apache-2.0
"""Classes and methods with annotations, for tests of calls. The annotations of this file are text."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple, Optional, TypedDict

import msgspec


class Colour(enum.Enum):
    RED = "r"
    BLUE = "b"


@dataclass
class Part:
    id: Annotated[int, "uint8"]
    note: str | None = None


@dataclass
class Imu:
    t: float
    acc: tuple[float, float, float]
    ok: bool = True


class Pose(msgspec.Struct):
    x: float
    parts: list[Part] = []


class Point(NamedTuple):
    x: int
    y: float = 0.5


class Options(TypedDict):
    name: str
    sizes: dict[str, int]


@dataclass
class Order:
    key: uuid.UUID
    price: Annotated[decimal.Decimal, "decimal(10, 2)"]
    when: datetime.datetime
    day: datetime.date
    took: datetime.timedelta
    code: bytes
    colour: Colour
    parts: list[Part] = field(default_factory=list)


ORDER = Order(
    uuid.UUID(int=5),
    decimal.Decimal("1.50"),
    datetime.datetime(2026, 11, 19, 12, tzinfo=datetime.UTC),
    datetime.date(2026, 11, 19),
    datetime.timedelta(seconds=1.5),
    b"\0\xff",
    Colour.BLUE,
    [Part(1, "a"), Part(2)],
)


class Later(NamedTuple):
    """Its field is declared below."""

    part: Optional["Below"] = None  # noqa: UP037, UP045 - a reference inside a text


@dataclass
class Below:
    n: int


class Robot:
    """Bound methods, and an object that is called."""

    def turn(self, angle: float, *, speed: Annotated[int, "int8"] = 1) -> float:
        return angle * speed

    def __call__(self, imu: Imu) -> Imu:
        return imu


def parts(imu: Imu, n: int) -> Iterator[Part]:
    for number in range(n):
        yield Part(number)


async def later(imu: Imu) -> Pose:
    return Pose(imu.t)


async def later_parts(imu: Imu, n: int) -> AsyncIterator[Part]:
    for number in range(n):
        yield Part(number)
