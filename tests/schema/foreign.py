# SPDX-License-Identifier: Apache-2.0
"""A Protobuf message class and a FlatBuffers schema, made when the tests begin."""

import importlib.util
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

T = descriptor_pb2.FieldDescriptorProto
ONE, REQUIRED, MANY = T.LABEL_OPTIONAL, T.LABEL_REQUIRED, T.LABEL_REPEATED


def field(name, number, kind, label=ONE, type_name="", **others):
    return T(name=name, number=number, type=kind, label=label, type_name=type_name or None, **others)


def file(name="imu.proto", package="robot", *, syntax="proto3", imports=()):
    return descriptor_pb2.FileDescriptorProto(name=name, package=package, syntax=syntax, dependency=imports)


def point_file():
    found = file("point.proto")
    found.message_type.add(name="Point").field.extend(
        [field("x", 1, T.TYPE_FLOAT), field("y", 2, T.TYPE_SINT32)]
    )
    return found


def imu_file():
    found = file(imports=["point.proto"])
    colours = found.enum_type.add(name="Colour")
    colours.value.add(name="RED", number=0)
    colours.value.add(name="GREEN", number=5)
    imu = found.message_type.add(name="Imu")
    imu.nested_type.add(name="ByNameEntry", options={"map_entry": True}).field.extend(
        [field("key", 1, T.TYPE_STRING), field("value", 2, T.TYPE_MESSAGE, type_name=".robot.Point")]
    )
    imu.nested_type.add(name="CountsEntry", options={"map_entry": True}).field.extend(
        [field("key", 1, T.TYPE_STRING), field("value", 2, T.TYPE_INT64)]
    )
    imu.oneof_decl.add(name="choice")
    imu.oneof_decl.add(name="_maybe")
    imu.field.extend(
        [
            field("t", 1, T.TYPE_DOUBLE),
            field("acc", 2, T.TYPE_FLOAT, MANY),
            field("ok", 3, T.TYPE_BOOL),
            field("name", 4, T.TYPE_STRING),
            field("blob", 5, T.TYPE_BYTES),
            field("count", 6, T.TYPE_UINT64),
            field("colour", 7, T.TYPE_ENUM, type_name=".robot.Colour"),
            field("at", 8, T.TYPE_MESSAGE, type_name=".robot.Point"),
            field("path", 9, T.TYPE_MESSAGE, MANY, ".robot.Point"),
            field("by_name", 10, T.TYPE_MESSAGE, MANY, ".robot.Imu.ByNameEntry"),
            field("counts", 11, T.TYPE_MESSAGE, MANY, ".robot.Imu.CountsEntry"),
            field("maybe", 12, T.TYPE_INT32, proto3_optional=True, oneof_index=1),
            field("either", 13, T.TYPE_STRING, oneof_index=0),
            field("other", 14, T.TYPE_FIXED32, oneof_index=0),
            field("colours", 15, T.TYPE_ENUM, MANY, ".robot.Colour"),
        ]
    )
    return found


def message_class(name, *files):
    pool = descriptor_pool.DescriptorPool()
    for each in files:
        pool.Add(each)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


@cache
def imu():
    return message_class("robot.Imu", point_file(), imu_file())


IMU = {
    "t": 1.5,
    "acc": [0.5, 1.5],
    "ok": True,
    "name": "ü",
    "blob": b"\0\xff",
    "count": (1 << 64) - 1,
    "colour": 5,
    "at": {"x": 0.5, "y": -7},
    "path": [{"x": 1.0, "y": 1}, {"x": 2.0, "y": 2}],
    "by_name": {"a": {"x": 3.0, "y": 3}},
    "counts": {"z": -1},
    "maybe": 0,
    "either": None,
    "other": 9,
    "colours": [0, 5],
}

FLAT = """
namespace robot;
enum Colour : byte { Red = 0, Green = 5 }
enum Flags : ubyte (bit_flags) { A, B }
struct Point { x: float; y: short; z: double; }
struct Pair { first: Point; seconds: [int:3]; ok: bool; }
table Inner { name: string (required); points: [Point]; }
table Imu {
  t: double; small: byte = -3; count: ulong = 7; ok: bool = true; colour: Colour = Green;
  flags: Flags = A; maybe: int = null; name: string; blob: [ubyte]; acc: [float]; at: Point; pair: Pair;
  inner: Inner; inners: [Inner]; names: [string]; colours: [Colour]; oks: [bool]; old: int (deprecated);
}
root_type Imu;
file_identifier "IMU1";
"""
FLAT_IMU = {
    "t": 1.5,
    "small": -3,
    "count": 7,
    "ok": False,
    "colour": 5,
    "flags": 3,
    "maybe": 0,
    "name": "ü",
    "blob": b"\0\xff",
    "acc": [0.5, 1.5],
    "at": {"x": 0.5, "y": -7, "z": 2.0},
    "pair": {"first": {"x": 1.0, "y": 1, "z": 1.0}, "seconds": [1, 2, 3], "ok": True},
    "inner": {"name": "i", "points": [{"x": 1.0, "y": 2, "z": 3.0}] * 2},
    "inners": [{"name": "a", "points": None}, {"name": "b", "points": []}],
    "names": ["a", "", "ü"],
    "colours": [0, 5],
    "oks": [True, False],
}


@cache
def bfbs(text: str = FLAT) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "imu.fbs")
        source.write_text(text)
        subprocess.run(["flatc", "-b", "--schema", "-o", folder, source], check=True)
        return Path(folder, "imu.bfbs").read_bytes()


def flat_to_json(body: bytes, text: str = FLAT) -> str:
    """What flatc, another reader, finds in a body."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "imu.fbs"), Path(folder, "body.bin")
        source.write_text(text)
        binary.write_bytes(body)
        subprocess.run(
            ["flatc", "--json", "--strict-json", "--raw-binary", "-o", folder, source, "--", binary],
            check=True,
        )
        return Path(folder, "body.json").read_text()


def flat_from_json(content: str, text: str = FLAT) -> bytes:
    """A body that flatc, another writer, makes."""
    with tempfile.TemporaryDirectory() as folder:
        source, data = Path(folder, "imu.fbs"), Path(folder, "body.json")
        source.write_text(text)
        data.write_text(content)
        subprocess.run(["flatc", "-b", "-o", folder, source, data], check=True)
        return Path(folder, "body.bin").read_bytes()


def load(source: str, name: str):
    """Run generated source text as a module. Return its namespace."""
    spec = importlib.util.spec_from_loader(name, loader=None)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        exec(source, module.__dict__)
    finally:
        del sys.modules[name]
    return module.__dict__
