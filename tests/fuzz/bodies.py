# SPDX-License-Identifier: Apache-2.0
"""Fuzz targets: the decoders of each encoding (docs/spec/schema.md section 5).

A body gives a value or Undecodable: without a class, with a class or another schema, and in columns. Decoders of
plain values and of columns agree. What a decoder accepts, an encoder accepts. Bad bodies do not change the rows of
good ones.

Input: number of the case, body.
"""

import datetime
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa

from fuzz import structured
from fuzz.counted import Counted
from schema import foreign, samples
from slipring._bus.schema.codec import Decoder, Encoder
from slipring._bus.schema.declare import declare
from slipring._bus.schema.row_batches import BatchDecoder
from slipring._bus.schema.topic_schema import Schema
from slipring.errors import BadArgument, Undecodable

SHARES = {"msgpack": 2.5, "json": 1.8, "numpy": 2.6, "arrow": 0.5, "protobuf": 1.5, "flatbuffers": 0.6}
MOST_TEXT = 2000  # characters of an error
ONE_IN = 16  # bodies that are also encoded
FEW = 8  # bad bodies of a block that go into columns together


@dataclass
class Small:
    t: float
    count: Annotated[int, "uint8"]
    note: str | None = None
    three: tuple[float, float, float] = (0.0, 0.5, 1.0)


@dataclass
class Moments:
    when: datetime.datetime
    day: datetime.date
    took: datetime.timedelta
    colour: samples.Colour
    parts: dict[str, samples.Inner]
    short: Annotated[float, "float16"] = 0.5


@dataclass
class View:
    """Fewer fields than Imu, and one with a default."""

    acc: list[float]
    note: str | None
    extra: int = 5


@dataclass
class FixedView:
    t: float
    acc: list[float]
    name: str
    when: datetime.datetime


@dataclass
class RowView:
    a: int | None
    s: str | None
    when: datetime.datetime | None
    extra: float = 0.5


@dataclass
class MessageView:
    t: float
    name: str | None


class Case:
    """A schema, bodies of it that are good, and its decoders."""

    def __init__(
        self, declared: Any, *values: Any, own: tuple[Any, ...] = (), encoding: str | None = None
    ) -> None:
        self.schema: Schema = declare(declared, encoding) if encoding else declare(declared)
        self.encode = Encoder(self.schema).encode
        self.good = [bytes(self.encode(value)) for value in values]
        self.plain: Callable[[Any], Any] = Decoder(self.schema).decode
        self.others = [Decoder(self.schema, each).decode for each in own]
        self.batches = BatchDecoder(self.schema)
        self.rows = [self._columns([body]) for body in self.good]

    def _columns(self, bodies: list[bytes]) -> Any:
        found = self.batches.decode(bodies)
        assert not found.bad, found.bad
        return found.batch

    def use(self, body: bytes) -> None:
        try:
            value = self.plain(body)
        except Undecodable as error:
            value = error
            assert len(str(error)) < MOST_TEXT, "the text of the error is long"
        for decode in self.others:
            try:
                decode(body)
            except Undecodable as error:
                assert len(str(error)) < MOST_TEXT, "the text of the error is long"
        if not isinstance(value, Undecodable) and zlib.crc32(body) % ONE_IN == 0:
            self._encoded(value)

    def _encoded(self, value: Any) -> None:
        try:
            self.encode(value)
        except BadArgument as error:
            assert self.schema.encoding == "json" and "finite number" in str(error)  # the default of a field

    def use_many(self, bodies: list[bytes]) -> None:
        """Decode the bodies into columns, between good ones."""
        good = [self.good[at % len(self.good)] for at in range(len(bodies) + 1)]
        mixed = [each for pair in zip(good, bodies, strict=False) for each in pair] + [good[len(bodies)]]
        found = self.batches.decode(mixed)
        found.batch.validate(full=True)
        rows = range(len(mixed)) if found.rows is None else found.rows
        taken = pa.array([row for row, body in enumerate(rows) if body % 2 == 0], pa.int64())
        wanted = pa.Table.from_batches([self.rows[at % len(self.good)] for at in range(len(good))])
        assert pa.Table.from_batches([found.batch.take(taken)]).equals(wanted), "good bodies have other rows"
        for at in range(1, len(mixed), 2):
            assert (at in found.bad) >= self._is_bad(mixed[at]), "columns accept what a decoder refuses"
            assert at in found.bad or self.schema.encoding == "arrow" or at in rows, (
                "a body is not accounted for"
            )

    def _is_bad(self, body: bytes) -> bool:
        try:
            self.plain(body)
        except Undecodable:
            return True
        return False


def _of_classes(encoding: str) -> list[Case]:
    small = [Small(1.5, 7), Small(-1.0, 255, "ü")]
    moments = Moments(
        samples.MOMENT, datetime.date(2026, 11, 19), datetime.timedelta(seconds=-1.5), samples.Colour.GREEN,
        {"a": samples.Inner(1), "": samples.Inner(-5, "x")},
    )  # fmt: skip
    struct, plain = samples.in_a_struct()[0], samples.an_imu("struct")[2]
    named = samples.in_a_named_tuple()[0]
    imu, value, _ = samples.an_imu("dataclass")
    return [
        *[Case(Small, *small, own=(Small,), encoding=encoding)] * 4,
        *[Case(struct, plain, own=(struct, View), encoding=encoding)] * 3,
        *[Case(imu, value, own=(imu,), encoding=encoding)] * 2,
        *[Case(Moments, moments, own=(Moments,), encoding=encoding)] * 2,
        Case(named, plain, own=(named,), encoding=encoding),
        Case(samples.Everything, samples.everything(), own=(samples.Everything,), encoding=encoding),
    ]


def _of_dtypes() -> list[Case]:
    numbers = np.dtype([(name, "<f8") for name in "abcdefgh"])
    texts = np.dtype(
        [("t", "<f8"), ("acc", "<f8", (3,)), ("name", "U4"), ("when", "M8[us]"), ("code", "V3")], align=True
    )
    nested = np.dtype(
        [
            ("p", [("x", "i1"), ("ok", "?"), ("took", "m8[ns]"), ("s", "S3")], (2,)),
            ("h", "<f2"),
            ("u", "U2", (2, 2)),
        ],
        align=True,
    )
    filled = np.zeros((), texts)
    filled["name"], filled["when"], filled["code"] = "ü", np.datetime64("2026-11-19T01:02:03", "us"), b"abc"
    own = np.dtype([("acc", "<f8", (3,)), ("name", "U4")])
    return [
        Case(numbers, np.ones((), numbers)[()]),
        *[Case(texts, filled[()], own=(FixedView, own))] * 2,
        *[Case(nested, np.zeros((), nested)[()])] * 2,
        Case(np.dtype("U3"), "abc"),
        Case(np.dtype(("<i4", (2, 2))), [[1, 2], [3, 4]]),
    ]


def _of_arrow() -> list[Case]:
    wide = pa.schema([
        ("a", pa.int32()), ("s", pa.string()), ("l", pa.list_(pa.struct([("x", pa.bool_())]))),
        ("f", pa.list_(pa.int8(), 2)), ("m", pa.map_(pa.string(), pa.int64())), ("when", pa.timestamp("us", "UTC")),
    ])  # fmt: skip
    row = {"a": 1, "s": "text", "l": [{"x": True}, None], "f": [1, 2], "m": {"k": 1}, "when": samples.MOMENT}
    strict = pa.schema([
        pa.field("n", pa.int64(), False), pa.field("b", pa.large_binary(), False), pa.field("z", pa.binary(2)),
        pa.field("ll", pa.large_list(pa.field("item", pa.float32(), False)), False),
        pa.field("d", pa.decimal128(10, 2)), pa.field("took", pa.duration("ns")),
    ])  # fmt: skip
    other = {"n": 1, "b": b"x", "z": b"ab", "ll": [0.5], "d": None, "took": 5}
    own = pa.schema([("a", pa.int64()), ("when", pa.timestamp("us", "UTC"))])
    return [
        Case(wide, [row] * 2, [row], own=(RowView, own)),
        Case(strict, [other], [other] * 3),
        Case(pa.schema([("x", pa.float64())]), [{"x": 1.0}]),
    ]


def _of_protobuf() -> list[Case]:
    imu = foreign.imu()
    few = {"t": 0.0, "acc": [], "ok": False, "name": "", "blob": b"", "count": 0, "colour": 0, "path": []}
    rest = {
        "by_name": {},
        "at": None,
        "counts": {},
        "maybe": None,
        "either": "e",
        "other": None,
        "colours": [],
    }
    point = foreign.message_class("robot.Point", foreign.point_file())
    return [
        *[Case(imu, foreign.IMU, {**few, **rest}, own=(MessageView, foreign.imu()))] * 2,
        Case(point, {"x": 1.0, "y": -1}),
    ]


def _of_flatbuffers() -> list[Case]:
    return [
        Case(foreign.bfbs(), foreign.FLAT_IMU, own=(MessageView,)),
        Case(foreign.bfbs("struct P { x: int; y: bool; } table R { p: P; n: [string]; } root_type R;"),
             {"p": {"x": 1, "y": True}, "n": ["a", "b"]}),
    ]  # fmt: skip


@cache
def cases(encoding: str) -> list[Case]:
    if encoding in ("msgpack", "json"):
        return _of_classes(encoding)
    made = {"numpy": _of_dtypes, "arrow": _of_arrow, "protobuf": _of_protobuf, "flatbuffers": _of_flatbuffers}
    return made[encoding]()


MUTATIONS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "msgpack": structured.of_tree(
        msgspec.msgpack.decode, msgspec.msgpack.encode, structured.MSGPACK_JUNK, structured.MSGPACK_TOKENS
    ),
    "json": structured.of_tree(
        msgspec.json.decode, msgspec.json.encode, structured.JUNK, structured.JSON_TOKENS
    ),
    "numpy": structured.of_offsets,
    "arrow": structured.of_offsets,
    "protobuf": structured.of_fields,
    "flatbuffers": structured.of_offsets,
}


def target(encoding: str) -> Counted:
    chosen, change = cases(encoding), MUTATIONS[encoding]

    def seeds() -> list[bytes]:
        return [bytes([number]) + body for number, case in enumerate(chosen) for body in case.good]

    def mutate(dice: random.Random, data: bytes) -> bytes:
        return data[:1] + change(dice, data[1:])

    def use(data: bytes) -> None:
        chosen[data[0] % len(chosen)].use(data[1:])

    def use_many(inputs: list[bytes]) -> None:
        together: dict[int, list[bytes]] = {}
        for data in inputs:
            together.setdefault(data[0] % len(chosen), []).append(data[1:])
        for number, bodies in together.items():
            chosen[number].use_many(bodies[:FEW])

    return Counted(f"bodies_{encoding}", SHARES[encoding], seeds, mutate, use, use_many)
