# SPDX-License-Identifier: Apache-2.0
"""Encodings msgpack and json: what an encoder takes, a decoder returns; what does not fit names the field."""

import dataclasses
import datetime
import decimal
import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import slipring
from schema import samples, strategies
from slipring._bus.schema.codec import Decoder, Encoder
from slipring._bus.schema.declare import declare
from slipring._bus.schema.encodings import fast_checks, msgspec_bodies
from slipring._bus.schema.topic_schema import Schema

QUICK = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
@pytest.mark.parametrize("way", samples.WAYS)
def test_an_object_comes_back_as_its_class_and_as_a_dict(way, encoding):
    cls, value, plain = samples.an_imu(way)
    schema = declare(cls, encoding)
    body = Encoder(schema).encode(value)
    assert Decoder(schema, cls).decode(body) == value
    assert type(Decoder(schema, cls).decode(body)) is type(value)
    assert Decoder(schema).decode(body) == plain
    assert Encoder(schema).encode(plain) == body


@pytest.mark.parametrize("way", samples.WAYS)
def test_the_bytes_do_not_depend_on_the_way_of_declaration(way):
    cls, value, _ = samples.an_imu(way)
    first, other, _ = samples.an_imu("dataclass")
    body = Encoder(declare(cls)).encode(value)
    assert body == Encoder(declare(first)).encode(other)
    assert Decoder(declare(cls), first).decode(body).acc == (0.5, 1.0, 9.75)


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
def test_every_type_comes_back(encoding):
    schema = declare(samples.Everything, encoding)
    value = samples.everything()
    body = Encoder(schema).encode(value)
    assert Decoder(schema, samples.Everything).decode(body) == value
    plain = Decoder(schema).decode(body)
    assert plain["colour"] == "g"
    assert plain["when"] == samples.MOMENT
    assert Encoder(schema).encode(plain) == body
    stored = Schema.from_bytes(schema.to_bytes())
    assert Encoder(stored).encode(plain) == body
    assert Decoder(stored, samples.Everything).decode(memoryview(body)) == value


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
@pytest.mark.parametrize("way", ["dataclass", "struct", "typed dict"])
def test_objects_that_fit_take_the_short_way(way, encoding, monkeypatch):
    """Each object through plain values would be right, and ten times slower."""

    def slow(*_args, **_settings):
        raise AssertionError("the slow way")

    pairs = [samples.an_imu(way)[:2], (samples.Everything, samples.everything())]
    for cls, value in pairs:
        schema = declare(cls, encoding)
        encode, decode, plain = Encoder(schema).encode, Decoder(schema, cls).decode, Decoder(schema).decode
        monkeypatch.setattr(msgspec_bodies, "to_plain", slow)
        body = encode(value)
        decode(body)
        for declared in (schema, Schema.from_bytes(schema.to_bytes())):
            assert Encoder(declared).encode(plain(body)) == body
        monkeypatch.undo()


@given(st.data())
@settings(QUICK)
def test_any_value_of_any_type_comes_back(data):
    encoding = data.draw(st.sampled_from(["msgpack", "json"]))
    schema = strategies.schema_of(encoding, data.draw(strategies.ROOTS))
    value = data.draw(strategies.values(schema.root, finite=encoding == "json"))
    body = Encoder(schema).encode(value)
    assert strategies.same(Decoder(schema).decode(body), value)


@dataclass
class Small:
    number: Annotated[int, "int32"]
    ratio: float
    inner: samples.Inner
    row: tuple[float, float]
    many: list[Annotated[int, "uint8"]]
    mode: samples.Colour = samples.Colour.RED


def small() -> Small:
    return Small(1, 0.5, samples.Inner(1), (1.0, 2.0), [1, 2])


WRONG = [
    ("number", 1 << 31, "number=2147483648 (int) must be int32, -2147483648 to 2147483647"),
    ("number", -(1 << 31) - 1, "number=-2147483649"),
    ("number", "1", "number='1' (str) must be int32, an int"),
    ("number", 1.0, "number=1.0"),
    ("number", True, "number=True"),
    ("number", None, "number=None"),
    ("ratio", "0.5", "ratio='0.5' (str) must be float64"),
    ("ratio", True, "ratio=True"),
    ("ratio", 10**400, "ratio="),
    ("inner", small(), "must be Inner or a dict"),
    ("inner", samples.Inner(1 << 15), "inner.number=32768"),
    ("inner", {"number": 1}, None),
    (
        "inner",
        {"number": 1, "txt": ""},
        "inner.txt is not a field of the schema: its fields are number, text",
    ),
    ("inner", {"text": "x"}, "inner.number is missing: it is int16"),
    ("row", (1.0,), "row=(1.0,) (tuple) must be array[float64, 2], with 2 items here, not 1"),
    ("row", (1.0, "x"), "row[1]='x'"),
    ("row", 5, "row=5"),
    ("row", "ab", "row='ab'"),
    ("many", [1, 256], "many[1]=256 (int) must be uint8, 0 to 255"),
    ("many", [1, None], "many[1]=None"),
    ("many", {1, 2}, "many={1, 2}"),
    ("mode", samples.Level.LOW, "must be a member of Colour"),
    ("mode", "x", "mode='x'"),
    ("mode", "g", None),
]


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
@pytest.mark.parametrize(("name", "value", "match"), WRONG)
def test_a_wrong_value_is_refused_with_its_field(name, value, match, encoding):
    schema = declare(Small, encoding)
    bad = dataclasses.replace(small(), **{name: value})
    as_dict = {each.name: getattr(bad, each.name) for each in dataclasses.fields(bad)}
    for given_value in (bad, as_dict):
        if match is None:
            Encoder(schema).encode(given_value)
            continue
        with pytest.raises(slipring.BadArgument) as caught:
            Encoder(schema).encode(given_value)
        assert match in str(caught.value)
        assert caught.value.argument.startswith(name)


@pytest.mark.parametrize(
    "value", [None, 5, "x", samples.Inner(1), [], b"", object(), {}, {"number": 1}, {1: 2}]
)
def test_another_object_is_refused(value):
    with pytest.raises(slipring.BadArgument):
        Encoder(declare(Small)).encode(value)


def test_numpy_scalars_and_arrays_are_values_of_a_class():
    value = dataclasses.replace(small(), number=np.int64(5), ratio=np.float32(0.5), row=np.array([1, 2]))
    schema = declare(Small)
    assert Decoder(schema, Small).decode(Encoder(schema).encode(value)) == dataclasses.replace(
        small(), number=5
    )


def test_nan_is_refused_by_json_alone():
    cls = dataclasses.make_dataclass("Made", [("a", float), ("many", list[float])])
    for a, many in ((math.nan, []), (math.inf, []), (0.0, [0.0, math.nan])):
        assert Decoder(declare(cls)).decode(Encoder(declare(cls)).encode(cls(a, many)))
        with pytest.raises(slipring.BadArgument, match="neither NaN nor infinity"):
            Encoder(declare(cls, "json")).encode(cls(a, many))


def test_a_value_that_contains_itself_is_refused():
    @dataclass
    class Tree:
        many: list[list[int]]

    loop = []
    loop.append(loop)
    with pytest.raises(slipring.BadArgument, match=r"many\[0\]\[0\]"):
        Encoder(declare(Tree)).encode(Tree(loop))


def test_text_that_is_not_unicode_is_refused():
    cls = dataclasses.make_dataclass("Made", [("text", str)])
    for encoding in ("msgpack", "json"):
        with pytest.raises(slipring.BadArgument, match="surrogate"):
            Encoder(declare(cls, encoding)).encode(cls("\ud800"))


def test_moments_need_a_zone_and_are_in_utc():
    cls = dataclasses.make_dataclass("Made", [("when", datetime.datetime)])
    schema = declare(cls)
    zone = datetime.timezone(datetime.timedelta(hours=2))
    there = datetime.datetime(2026, 1, 1, 2, tzinfo=zone)
    assert Decoder(schema).decode(Encoder(schema).encode(cls(there))) == {
        "when": datetime.datetime(2026, 1, 1, tzinfo=samples.UTC)
    }
    for wrong in (datetime.datetime(2026, 1, 1), datetime.date(2026, 1, 1), 5):
        with pytest.raises(slipring.BadArgument, match="datetime with a time zone"):
            Encoder(schema).encode(cls(wrong))
    with pytest.raises(slipring.BadArgument, match="years 1 to 9999"):
        Encoder(schema).encode(cls(datetime.datetime.min.replace(tzinfo=zone)))


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
@pytest.mark.parametrize(("change", "field"), [({"text": "a\0"}, "text"), ({"blob": b"\0"}, "blob")])
def test_limited_text_and_bytes_with_a_zero_at_the_end_are_undecodable(change, field, encoding):
    @dataclass
    class Own:
        text: Annotated[str, "str[<=4]"]
        blob: Annotated[bytes, "bytes[<=4]"]

    schema = declare(Own, encoding)
    for own in (None, Own):
        body = getattr(msgspec, encoding).encode({"text": "a\0b", "blob": b"\0x", **change})
        with pytest.raises(slipring.Undecodable, match="no zero at the end") as caught:
            Decoder(schema, own).decode(body)
        assert caught.value.field == field


def test_moments_with_an_offset_are_decoded_in_utc_and_refused_outside_of_the_years_of_python():
    @dataclass
    class Own:
        when: datetime.datetime

    schema = declare(Own, "json")
    found = Decoder(schema).decode(b'{"when":"2026-11-19T01:00:00+02:00"}')["when"]
    assert found == datetime.datetime(2026, 11, 18, 23, tzinfo=datetime.UTC) and found.tzinfo is datetime.UTC
    for body in (b'{"when":"9999-12-31T23:59:59-23:59"}', b'{"when":"0001-01-01T00:00:00+00:01"}'):
        for decoder in (Decoder(schema), Decoder(schema, Own)):
            with pytest.raises(slipring.Undecodable, match="of the years 1 to 9999") as caught:
                decoder.decode(body)
            assert caught.value.field == "when"


def test_decimals_that_would_be_rounded_are_refused():
    cls = dataclasses.make_dataclass("Made", [("price", Annotated[decimal.Decimal, "decimal(5, 2)"])])
    encode = Encoder(declare(cls)).encode
    for text in ("999.99", "-1", "1.500", "0", "1E+2", "0E-5"):
        encode(cls(decimal.Decimal(text)))
    for text in ("1000", "0.001", "NaN", "Infinity", "1E+3", "1E-3", "1E+999999"):
        with pytest.raises(slipring.BadArgument, match="price="):
            encode(cls(decimal.Decimal(text)))


BODIES = [
    ({"number": 1 << 31}, "number"),
    ({"number": "x"}, "number"),
    ({"number": 1.5}, "number"),
    ({"ratio": "x"}, "ratio"),
    ({"ratio": None}, "ratio"),
    ({"inner": {"number": 1 << 15, "text": ""}}, "inner.number"),
    ({"inner": {"text": ""}}, "inner.number"),
    ({"inner": 5}, "inner"),
    ({"row": [1.0]}, "row"),
    ({"row": [1.0, "x"]}, "row[1]"),
    ({"many": [1, 256]}, "many[1]"),
    ({"many": [1, -1]}, "many[1]"),
    ({"mode": "x"}, "mode"),
    ({"mode": 5}, "mode"),
]


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
@pytest.mark.parametrize("own", [None, Small])
@pytest.mark.parametrize(("change", "field"), BODIES)
def test_a_body_that_does_not_fit_names_the_field(change, field, own, encoding):
    schema = declare(Small, encoding)
    good = Decoder(schema).decode(Encoder(schema).encode(small()))
    body = getattr(msgspec, encoding).encode({**good, **change})
    with pytest.raises(slipring.Undecodable) as caught:
        Decoder(schema, own).decode(body)
    assert caught.value.field == field
    for name in good:
        if name == "mode":
            continue
        body = getattr(msgspec, encoding).encode({key: good[key] for key in good if key != name})
        with pytest.raises(slipring.Undecodable, match=f"{name} is missing") as caught:
            Decoder(schema, own).decode(body)
        assert caught.value.field == name


@pytest.mark.parametrize("own", [None, Small])
def test_an_absent_field_takes_the_default_of_the_topic(own):
    schema = declare(Small)
    good = Decoder(schema).decode(Encoder(schema).encode(small()))
    del good["mode"]
    found = Decoder(schema, own).decode(msgspec.msgpack.encode(good))
    assert (found["mode"] if own is None else found.mode.value) == "r"


def test_the_default_of_the_topic_counts_and_not_that_of_the_class():
    @dataclass
    class Own:
        number: Annotated[int, "int32"]
        mode: samples.Colour = samples.Colour.GREEN

    schema = declare(Small)
    good = Decoder(schema).decode(Encoder(schema).encode(small()))
    del good["mode"]
    assert Decoder(schema, Own).decode(msgspec.msgpack.encode(good)) == Own(1, samples.Colour.RED)


def test_a_default_is_not_shared_between_messages():
    cls = dataclasses.make_dataclass(
        "Made", [("a", int), ("many", list[int], dataclasses.field(default_factory=list))]
    )
    decode = Decoder(declare(cls)).decode
    body = msgspec.msgpack.encode({"a": 1})
    decode(body)["many"].append(1)
    assert decode(body)["many"] == []


def test_a_class_that_raises_makes_the_body_undecodable():
    @dataclass
    class Picky:
        number: int

        def __post_init__(self):
            raise RuntimeError("never")

    class Tuple(NamedTuple):
        number: int

    schema = declare(Tuple)
    body = Encoder(schema).encode(Tuple(1))
    with pytest.raises(slipring.Undecodable, match="RuntimeError: never"):
        Decoder(schema, Picky).decode(body)


def test_a_struct_that_omits_defaults_sends_all_fields():
    class Omitting(msgspec.Struct, omit_defaults=True):
        a: int = 1
        b: int = 2

    schema = declare(Omitting)
    assert msgspec.msgpack.decode(Encoder(schema).encode(Omitting())) == {"a": 1, "b": 2}


def test_the_check_refuses_no_more_than_it_has_to():
    """The compiled function accepts every sample value; `otherwise` is for the others."""
    schema = declare(samples.Everything)
    refused = []
    encode = fast_checks.encoder(schema.root, schema.bound, lambda value: b"", refused.append, finite=False)
    encode(samples.everything())
    assert refused == []
