# SPDX-License-Identifier: Apache-2.0
"""Encodings protobuf and flatbuffers: other programs read and write the same bodies."""

import pytest

import slipring
from schema import foreign
from slipring._bus.schema.codec import Decoder, Encoder
from slipring._bus.schema.declare import declare
from slipring._bus.schema.topic_schema import Schema


def test_protobuf_comes_back_as_a_message_and_as_a_dict():
    cls = foreign.imu()
    schema = declare(cls)
    body = Encoder(schema).encode(foreign.IMU)
    message = cls.FromString(body)
    assert (message.count, message.at.y, message.by_name["a"].x, message.other) == ((1 << 64) - 1, -7, 3.0, 9)
    assert Decoder(schema).decode(body) == foreign.IMU
    assert Decoder(schema).decode(Encoder(schema).encode(message)) == foreign.IMU
    assert Decoder(schema, cls).decode(body) == message
    stored = Schema.from_bytes(schema.to_bytes())
    assert stored == schema
    assert Decoder(stored).decode(Encoder(stored).encode(message)) == foreign.IMU
    assert Decoder(stored, cls).decode(body) == message
    empty = Decoder(schema).decode(b"")
    assert empty["at"] is None and empty["acc"] == [] and empty["colour"] == 0 and empty["maybe"] is None


def test_a_wrong_protobuf_message_is_refused():
    cls = foreign.imu()
    encode = Encoder(declare(cls)).encode
    point = foreign.message_class("robot.Point", foreign.point_file())
    with pytest.raises(slipring.BadArgument, match=r"robot\.Point, messages of the topic are robot\.Imu"):
        encode(point())
    changed = foreign.imu_file()
    changed.message_type[0].field[0].number = 99
    with pytest.raises(slipring.BadArgument, match=r"robot\.Imu"):
        encode(foreign.message_class("robot.Imu", foreign.point_file(), changed)())
    for change, field in (
        ({"at": {"x": 0.5, "y": 1 << 31}}, "at.y"),
        ({"colour": 3}, "colour"),
        ({"acc": [1e39]}, "acc[0]"),
    ):
        with pytest.raises(slipring.BadArgument) as caught:
            encode({**foreign.IMU, **change})
        assert caught.value.argument == field
    with pytest.raises(slipring.Undecodable, match=r"colour=3"):
        Decoder(declare(cls)).decode(cls(colour=3).SerializeToString())


def test_protobuf_that_cannot_be_declared():
    T = foreign.T
    cases = {
        "int keys": (
            foreign.field("bad", 1, T.TYPE_MESSAGE, foreign.MANY, ".robot.Imu.E"),
            T.TYPE_INT32,
            "keys of a map",
        ),
        "recursion": (
            foreign.field("bad", 1, T.TYPE_MESSAGE, type_name=".robot.Imu"),
            None,
            "contains itself",
        ),
        "keyword": (foreign.field("from", 1, T.TYPE_INT32), None, "keyword"),
        "own column": (foreign.field("value", 1, T.TYPE_INT32), None, "choose another name"),
    }
    for bad, key, match in cases.values():
        found = foreign.file()
        imu = found.message_type.add(name="Imu")
        if key is not None:
            imu.nested_type.add(name="E", options={"map_entry": True}).field.extend(
                [foreign.field("key", 1, key), foreign.field("value", 2, T.TYPE_INT64)]
            )
        imu.field.append(bad)
        with pytest.raises(slipring.BadArgument, match=match):
            declare(foreign.message_class("robot.Imu", found))


def test_flatbuffers_come_back_and_flatc_reads_them():
    import json

    schema = declare(foreign.bfbs())
    body = Encoder(schema).encode(foreign.FLAT_IMU)
    assert Decoder(schema).decode(body) == foreign.FLAT_IMU
    seen = json.loads(foreign.flat_to_json(body))
    assert seen["name"] == "ü" and seen["blob"] == [0, 255] and seen["colour"] == "Green"
    assert seen["pair"] == {"first": {"x": 1.0, "y": 1, "z": 1.0}, "seconds": [1, 2, 3], "ok": True}
    assert seen["inners"] == [{"name": "a"}, {"name": "b", "points": []}]
    theirs = foreign.flat_from_json(json.dumps(seen))
    assert Decoder(schema).decode(theirs) == foreign.FLAT_IMU
    stored = Schema.from_bytes(schema.to_bytes())
    assert stored == schema
    assert Encoder(stored).encode(foreign.FLAT_IMU) == body


def test_a_flat_table_without_fields_has_the_defaults():
    found = Decoder(declare(foreign.bfbs())).decode(foreign.flat_from_json("{}"))
    assert found == {
        **dict.fromkeys(foreign.FLAT_IMU),
        "t": 0.0,
        "small": -3,
        "count": 7,
        "ok": True,
        "colour": 5,
        "flags": 1,
    }


def test_a_wrong_flat_value_is_refused():
    schema = declare(foreign.bfbs())
    for change, field in (
        ({"small": 128}, "small"),
        ({"colour": 1}, "colour"),
        ({"at": {"x": 0.0, "y": 0}}, "at.z"),
        ({"names": [1]}, "names[0]"),
        ({"pair": {**foreign.FLAT_IMU["pair"], "seconds": [1]}}, "pair.seconds"),
        ({"inner": {"points": None}}, "inner.name"),
    ):
        with pytest.raises(slipring.BadArgument) as caught:
            Encoder(schema).encode({**foreign.FLAT_IMU, **change})
        assert caught.value.argument == field


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (
            "table A { x: int; } table B { y: int; } union U { A, B } table R { u: U; } root_type R;",
            "field u",
        ),
        ("table R { next: R; } root_type R;", "contains itself"),
        ("table R { value: int; } root_type R;", "choose another name"),
        ("table R { x: int; }", "no root_type"),
    ],
)
def test_flatbuffers_that_cannot_be_declared(text, match):
    with pytest.raises(slipring.BadArgument, match=match):
        declare(foreign.bfbs(text))
