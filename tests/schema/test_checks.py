# SPDX-License-Identifier: Apache-2.0
"""The compiled checks of messages: what they accept is what plain_values.py accepts, of the exact classes."""

import dataclasses
import datetime
import decimal
import gc
import math
import uuid
import weakref
from dataclasses import dataclass
from typing import Annotated

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import slipring
from schema import samples, strategies
from slipring._bus.native import _native
from slipring._bus.schema import field_types as ft
from slipring._bus.schema.bound_classes import PYTHON_CLASSES, plain
from slipring._bus.schema.codec import Decoder, Encoder
from slipring._bus.schema.declare import declare
from slipring._bus.schema.encodings import fast_checks
from slipring._bus.schema.plain_values import to_plain

QUICK = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
ENCODINGS = st.sampled_from(["msgpack", "json"])


class Number(int):
    pass


class Name(str):
    pass


WRONG = [
    *(
        None,
        True,
        0,
        1,
        -1,
        127,
        128,
        255,
        256,
        -129,
        1 << 31,
        1 << 32,
        1 << 63,
        -(1 << 63) - 1,
        1 << 64,
        10**30,
    ),
    *(
        0.5,
        math.nan,
        math.inf,
        65520.0,
        3.5e38,
        "",
        "ab\0",
        "abcdef",
        "\ud800",
        b"",
        b"abcd\0",
        b"abcdef",
        bytearray(b"abcde"),
    ),
    *([], (), {}, [None], {"a": None}, {1: 2}, Number(1), Name("a"), object()),
    datetime.datetime(2026, 1, 1),
    datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
    *(datetime.timedelta.max, datetime.timedelta(1), datetime.date(2026, 1, 1), uuid.UUID(int=1)),
    *(decimal.Decimal("0.001"), decimal.Decimal("NaN"), decimal.Decimal(10**6), samples.Colour.RED),
]


@st.composite
def changed(draw, value):
    """Draw the value with one of its parts replaced, or removed, or another one added."""
    if isinstance(value, list) and value and draw(st.booleans()):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], draw(changed(value[at])), *value[at + 1 :]]
    if isinstance(value, dict) and value and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: draw(changed(value[key]))}
    ways = [st.sampled_from(WRONG)]
    if isinstance(value, list):
        ways += [st.just(tuple(value)), st.just(value[1:]), st.just([*value, *value[:1]])]
    if isinstance(value, dict):
        ways += [
            st.just({**value, "a": 1}),
            st.just(dict(reversed(value.items()))),
            st.just(dict(list(value.items())[1:])),
        ]
    return draw(st.one_of(ways))


def exact(kind, value):
    """Whether all parts of a plain value have the classes of the types."""
    match kind:
        case ft.Nullable(item=item):
            return value is None or exact(item, value)
        case ft.Struct(fields=fields):
            return (
                type(value) is dict
                and len(value) == len(fields)
                and all(each.name in value and exact(each.type, value[each.name]) for each in fields)
            )
        case ft.List(item=item) | ft.Array(row=item):
            return type(value) in (list, tuple) and all(exact(item, each) for each in value)
        case ft.Map(item=item):
            return type(value) is dict and all(
                type(key) is str and exact(item, each) for key, each in value.items()
            )
        case ft.Enum():
            return type(value) is kind.kind
        case ft.Timestamp(unit="us"):
            return type(value) is datetime.datetime and value.tzinfo is datetime.UTC
        case ft.Duration(unit="us"):
            return type(value) is datetime.timedelta
        case ft.Timestamp() | ft.Duration():
            return type(value) is int
    return type(value) is PYTHON_CLASSES[type(kind)]


def possible(kind, value, finite):
    try:
        to_plain(kind, value, finite=finite)
    except slipring.BadArgument:
        return False
    return True


@given(st.data())
@settings(QUICK)
def test_a_check_accepts_what_fits_and_has_the_exact_classes(data):
    encoding = data.draw(ENCODINGS)
    finite = encoding == "json"
    kind = data.draw(strategies.ROOTS)
    value = data.draw(strategies.values(kind, finite=finite))
    if data.draw(st.booleans()):
        value = data.draw(changed(value))
    encode, refused = getattr(msgspec, encoding).Encoder().encode, []
    body = fast_checks.encoder(kind, plain(kind), encode, refused.append, finite=finite)(value)
    assert (refused == []) == (exact(kind, value) and possible(kind, value, finite))
    if not refused:
        assert strategies.same(
            getattr(msgspec, encoding).decode(body),
            getattr(msgspec, encoding).decode(encode(to_plain(kind, value))),
        )


@given(st.data())
@settings(QUICK)
def test_a_decoder_returns_what_fits_and_refuses_all_else(data):
    encoding = data.draw(ENCODINGS)
    schema = strategies.schema_of(encoding, data.draw(strategies.ROOTS))
    value = data.draw(changed(data.draw(strategies.values(schema.root, finite=encoding == "json"))))
    try:
        body = getattr(msgspec, encoding).encode(value)
    except Exception:  # not every wrong value can be encoded  # noqa: BLE001
        return
    try:
        found = Decoder(schema).decode(body)
    except slipring.Undecodable:
        return
    assert exact(schema.root, found)
    assert possible(schema.root, found, False)


@dataclass
class Item:
    number: Annotated[int, "int16"]
    text: str = "read after the change"

    def __getattribute__(self, name):
        if name == "number":
            meanwhile()
        return object.__getattribute__(self, name)


@dataclass
class Box:
    many: list[Item]
    by_name: dict[str, Item]


def meanwhile():
    pass


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
@pytest.mark.parametrize("change", ["clear", "shrink", "grow", "replace"])
def test_an_object_that_changes_its_container_meanwhile_does_no_harm(change, encoding, monkeypatch):
    box = Box([Item(at) for at in range(100)], {str(at): Item(at) for at in range(100)})

    def act():
        monkeypatch.undo()
        if change == "clear":
            box.many.clear()
            box.by_name.clear()
        elif change == "shrink":
            del box.many[1:]
            for at in range(1, 100):
                del box.by_name[str(at)]
        elif change == "grow":
            box.many.extend([Item(0)] * 10000)
            box.by_name.update((str(at), Item(at)) for at in range(10000))
        else:
            box.many[:] = [object() for _ in range(100)]
            box.by_name.update((str(at), object()) for at in range(100))
        gc.collect()

    for first in ("many", "by_name"):
        monkeypatch.setattr(f"{__name__}.meanwhile", act)
        try:
            Encoder(declare(Box, encoding)).encode(box if first == "many" else Box([], box.by_name))
        except slipring.BadArgument as error:
            assert error.argument.startswith(("many", "by_name"))
        else:
            assert change != "replace"


def test_an_exception_of_an_attribute_is_not_lost(monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(f"{__name__}.meanwhile", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Encoder(declare(Box)).encode(Box([Item(1)], {}))


def test_an_object_that_lies_about_its_class_is_refused():
    class Liar:
        @property
        def __class__(self):
            return samples.Inner

    @dataclass
    class Outer:
        inner: samples.Inner

    with pytest.raises(slipring.BadArgument, match="number is missing"):
        Encoder(declare(samples.Inner)).encode(Liar())
    with pytest.raises(slipring.BadArgument, match="number is missing"):
        Encoder(declare(Outer)).encode(Outer(Liar()))


def test_an_attribute_that_the_class_computes_is_checked_as_it_is_sent():
    @dataclass(slots=True)
    class Computed:
        number: int

        def __getattribute__(self, name):
            return "text" if name == "number" else object.__getattribute__(self, name)

    with pytest.raises(slipring.BadArgument, match="number='text'"):
        Encoder(declare(Computed)).encode(Computed(1))


def test_nesting_deeper_than_the_schema_is_refused():
    @dataclass
    class Rows:
        rows: list[list[int]]

    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(slipring.BadArgument):
        Encoder(declare(Rows)).encode(Rows(deep))


@pytest.mark.parametrize("slots", [False, True])
def test_a_field_that_is_not_set_is_named(slots):
    made = dataclasses.make_dataclass("Made", [("a", int), ("b", float)], slots=slots)
    value = object.__new__(made)
    value.a = 1
    with pytest.raises(slipring.BadArgument, match="b is missing"):
        Encoder(declare(made)).encode(value)

    class Struct(msgspec.Struct):
        a: int
        b: float

    unset = Struct(1, 0.5)
    del unset.b
    with pytest.raises(slipring.BadArgument, match="b is missing"):
        Encoder(declare(Struct)).encode(unset)


def test_slots_of_a_class_and_of_its_bases_are_read():
    class First(msgspec.Struct, frozen=True):
        a: Annotated[int, "int8"]

    class Second(First, frozen=True, kw_only=True):
        b: Annotated[int, "int8"]

    @dataclass(slots=True)
    class Third:
        a: Annotated[int, "int8"]

    @dataclass(slots=True)
    class Fourth(Third):
        b: Annotated[int, "int8"]

    for cls in (Second, Fourth):
        encode = Encoder(declare(cls)).encode
        assert msgspec.msgpack.decode(encode(cls(a=1, b=2))) == {"a": 1, "b": 2}
        for name in "ab":
            with pytest.raises(slipring.BadArgument, match=f"{name}=128"):
                encode(cls(**{"a": 1, "b": 2, name: 128}))


@pytest.mark.parametrize("frozen", [False, True])
def test_a_class_with_its_encoder_is_collected(frozen):
    @dataclass(slots=frozen)
    class Made:
        number: int

    Made.encode = Encoder(declare(Made)).encode
    assert Made.encode(Made(1))
    gone = weakref.ref(Made)
    del Made
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "program",
    [
        5, (), ("class",), ("nothing", int, None), ("class", None, None), ("class", 5, None), ("int", str, (0, 1)),
        ("int", int, None), ("int", int, (0,)), ("float", int, (1.0, True)), ("size", list, (0, 1, False)),
        ("size", str, (1 << 70, 1, False)), ("optional", None, ()), ("optional", None, (5,)), ("optional", int, (5,)),
        ("items", None, (0, 1, (5,))), ("values", list, (("class", int, None),)), ("keys", dict, (0, ("a",), ())),
        ("keys", dict, (0, (1,), (("class", int, None),))), ("member", float, frozenset()), ("member", str, {"a"}),
        ("slots", samples.Inner, (5, ("number",), ("class", int, None))),
    ],
)  # fmt: skip
def test_a_malformed_check_is_refused(program):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        _native.Checked(repr, repr, program, None)


def test_a_check_without_limits_accepts_everything():
    assert _native.Checked(repr, len, None, None).call(5) == "5"
