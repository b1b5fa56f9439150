# SPDX-License-Identifier: Apache-2.0
"""sub on topics with a schema: fields in place of bytes, for each encoding, and messages that do not fit."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pyarrow as pa
import pytest

from schema import foreign, samples

ALL = ("--start", "oldest", "--timeout", "0")


@dataclass
class Imu:
    t: float
    acc: tuple[float, float, float]
    ok: bool = True


@dataclass
class Pose:
    x: float
    y: float


@dataclass
class Robot:
    name: str
    pose: Pose | None
    path: list[Pose]
    limits: dict[str, int]
    blob: bytes = b""


IMU = Imu(0.01, (0.1, 0.2, 9.8))
ROBOT = Robot("r2", Pose(1.0, -2.0), [Pose(3.0, 4.0)], {"low": -1}, b"\xff\x00")


@pytest.fixture
def imu(bus):
    return bus.publisher("imu", sender="gyro", schema=Imu)


def test_sub_prints_the_fields_of_a_typed_topic(cli, terminal, imu):
    imu.send(IMU)
    imu.send(IMU, type="v2")
    expected = (
        "#0 gyro  t=0.01 acc=[0.1, 0.2, 9.8] ok=true\n#1 gyro (v2)  t=0.01 acc=[0.1, 0.2, 9.8] ok=true\n"
    )
    assert terminal.run("sub", "imu", *ALL).decode() == expected
    assert cli.run("sub", "imu", *ALL).stdout.decode() == expected


def test_text_of_a_message_cannot_act_on_a_terminal_or_imitate_fields(terminal, bus):
    publisher = bus.publisher("r", sender="a  t=1\x1b[2J", schema=Robot)
    publisher.send(Robot('\x1b[2J\x9b" t=5\n', None, [], {"\x07": 1}))
    shown = terminal.run("sub", "r", *ALL).decode()
    assert shown.rstrip("\n").isprintable()
    assert shown == (
        '#0 "a  t=1\\u001b[2J"  name="\\u001b[2J\\u009b\\" t=5\\n" pose=null path=[] limits={"\\u0007": 1} blob=0x\n'
    )


def test_long_values_are_cut_on_a_terminal_and_whole_in_a_pipe(cli, terminal, bus):
    bus.publisher("r", schema=Robot).send(Robot("n" * 5000, None, [Pose(0.5, 0.5)] * 1000, {}, b"x" * 5000))
    shown = terminal.run("sub", "r", *ALL).decode()
    assert len(shown) < 500 and shown.count("…") == 3
    printed = cli.run("sub", "r", *ALL).stdout.decode()
    assert "n" * 5000 in printed and printed.count("{x: 0.5, y: 0.5}") == 1000 and "…" not in printed


def test_json_has_the_fields_as_an_object(cli, bus, imu):
    imu.send(IMU, type="v2")
    kept = bus.subscriber("imu", start="oldest").recv()
    assert cli.records("sub", "imu", *ALL, "--format", "json") == [
        {
            "topic": "imu",
            "seq": 0,
            "time_ns": kept.time_ns,
            "sender": "gyro",
            "type": "v2",
            "value": {"t": 0.01, "acc": [0.1, 0.2, 9.8], "ok": True},
        }
    ]


def test_json_has_every_type_in_the_form_that_the_json_schema_describes(cli, bus):
    bus.publisher("all", schema=samples.Everything).send(samples.everything())
    (record,) = cli.records("sub", "all", *ALL, "--format", "json")
    value = record["value"]
    assert list(value) == [name for name, _ in bus.schema("all").fields]
    expected = {
        "u64": (1 << 64) - 1,
        "text": "ü\0x",
        "blob": "AP8=",
        "when": "2026-11-19T04:05:06.000789Z",
        "when_ns": -5,
        "day": "2026-11-19",
        "long": "-PT86399.999997S",
        "key": "00000000-0000-0000-0000-000000000005",
        "price": "-12345678.90",
        "colour": "g",
        "maybe": None,
        "grid": [[1, 2, 3], [4, 5, 6]],
        "by_name": {"x": {"number": 4, "text": "default"}, "none": None},
    }
    assert {name: value[name] for name in expected} == expected


def test_numbers_that_json_does_not_have_are_texts(cli, imu):
    imu.send(Imu(float("nan"), (float("inf"), float("-inf"), 0.0)))
    (record,) = cli.records("sub", "imu", *ALL, "--format", "json")
    assert record["value"]["t"] == "NaN" and record["value"]["acc"] == ["Infinity", "-Infinity", 0.0]


def in_numpy():
    dtype = np.dtype([("t", "f4"), ("at", "M8[us]"), ("p", [("x", "i2")], (2,)), ("name", "U4"), ("b", "V2")])
    value = np.array((0.1, "2026-11-19", [(1,), (2,)], "ab", b"\0\1"), dtype)[()]
    shown = 't=0.1 at=2026-11-19T00:00:00Z p=[{x: 1}, {x: 2}] name="ab" b=0x0001'
    t = float(np.float32(0.1))
    return dtype, value, shown, {
        "t": t, "at": "2026-11-19T00:00:00Z", "p": [{"x": 1}, {"x": 2}], "name": "ab", "b": "AAE=",
    }  # fmt: skip


def in_protobuf():
    message = foreign.imu()
    value = message(t=1.5, acc=[0.5], name="n", colour=5, at={"x": 2.0, "y": 3})
    return message, value, "t=1.5 acc=[0.5]", {"t": 1.5, "acc": [0.5], "colour": 5, "at": {"x": 2.0, "y": 3}}


def in_json():
    return Imu, IMU, "t=0.01 acc=[0.1, 0.2, 9.8] ok=true", {"t": 0.01, "acc": [0.1, 0.2, 9.8], "ok": True}


@pytest.mark.parametrize("way", [in_numpy, in_protobuf, in_json])
def test_each_encoding_is_printed(cli, bus, way):
    schema, value, shown, expected = way()
    encoding = {"encoding": "json"} if way is in_json else {}
    bus.publisher("t", schema=schema, **encoding).send(value)
    assert f"#0  {shown}" in cli.run("sub", "t", *ALL).stdout.decode()
    (record,) = cli.records("sub", "t", *ALL, "--format", "json")
    assert {name: record["value"][name] for name in expected} == expected


def test_arrow_messages_are_lists_of_rows(cli, bus):
    schema = pa.schema([("t", pa.timestamp("ns", "UTC")), ("x", pa.float64())])
    publisher = bus.publisher("t", schema=schema)
    publisher.send(pa.RecordBatch.from_pydict({"t": [5, None], "x": [0.5, 1.5]}, schema=schema))
    (record,) = cli.records("sub", "t", *ALL, "--format", "json")
    assert record["value"] == [{"t": 5, "x": 0.5}, {"t": None, "x": 1.5}]
    assert cli.run("sub", "t", *ALL).stdout.decode() == (
        "#0  [{t: 1970-01-01T00:00:00.000000005Z, x: 0.5}, {t: null, x: 1.5}]\n"
    )
    assert cli.run("sub", "t", *ALL, "--fields", "x").stdout == b"0.5\n1.5\n"


def test_a_message_that_is_not_a_structure_has_the_field_value(cli, bus):
    bus.publisher("t", schema=np.dtype(("f8", (2,)))).send(np.array([0.5, 1.5]))
    assert cli.run("sub", "t", *ALL).stdout == b"#0  value=[0.5, 1.5]\n"
    assert cli.run("sub", "t", *ALL, "--fields", "value[1]").stdout == b"1.5\n"
    assert cli.records("sub", "t", *ALL, "--format", "json")[0]["value"] == [0.5, 1.5]


def test_a_moment_that_is_not_a_time_is_null(cli, bus):
    dtype = np.dtype([("at", "M8[us]"), ("took", "m8[ns]", (2,))])
    bus.publisher("t", schema=dtype).send(np.array(("NaT", ["NaT", 5]), dtype)[()])
    assert cli.records("sub", "t", *ALL, "--format", "json")[0]["value"] == {"at": None, "took": [None, 5]}


def test_fields_are_printed_as_columns(cli, terminal, bus):
    publisher = bus.publisher("r", schema=Robot)
    publisher.send(ROBOT)
    publisher.send(Robot("a\tb", None, [], {}))
    chosen = ("--fields", "name,pose.x,path[0].y", "--fields", "limits.low,path[-1]")
    printed = cli.run("sub", "r", *ALL, *chosen).stdout.decode()
    assert printed == "r2\t1.0\t4.0\t-1\t{x: 3.0, y: 4.0}\na\\tb\tnull\tnull\tnull\tnull\n"
    first, second = cli.records("sub", "r", *ALL, *chosen, "--format", "json")
    assert first == {
        "name": "r2", "pose.x": 1.0, "path[0].y": 4.0, "limits.low": -1, "path[-1]": {"x": 3.0, "y": 4.0},
    }  # fmt: skip
    assert second["pose.x"] is None and second["name"] == "a\tb"
    shown = terminal.run("sub", "r", *ALL, "--fields", "name,pose.x").decode().splitlines()
    assert shown == ["name  pose.x", "r2    1.0", "a\\tb  null"]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("poes", "no field 'poes' in topic 'r': its fields are name, pose, path, limits, blob: did you mean 'pose'?"),
        ("pose.z", "no field 'pose.z' in topic 'r': the fields of pose are x, y"),
        ("name[0]", "no field 'name[0]' in topic 'r': name is str"),
        ("pose.x.y", "no field 'pose.x.y' in topic 'r': pose.x is float64"),
        ("path.x", "no field 'path.x' in topic 'r': path is list[structure Pose], use path[0]"),
        ("a..b", "'a..b' is not a field: write it as t, acc[0] or pose.x"),
    ],
)  # fmt: skip
def test_a_field_that_does_not_exist_is_refused_with_those_there_are(cli, bus, field, expected):
    bus.publisher("r", schema=Robot).send(ROBOT)
    outcome = cli.run("sub", "r", *ALL, "--fields", field, code=2 if ".." in field else 1)
    assert expected in outcome.stderr and outcome.stdout == b""


def test_an_item_outside_of_an_array_is_refused(cli, imu):
    outcome = cli.run("sub", "imu", "--timeout", "0", "--fields", "acc[3]", code=1)
    assert "no field 'acc[3]' in topic 'imu': acc is array[float64, 3]" in outcome.stderr


def test_fields_of_an_untyped_topic_are_refused(cli, bus):
    bus.publisher("t").send(b"x")
    outcome = cli.run("sub", "t", *ALL, "--fields", "a", code=1)
    assert "topic 't' has no schema" in outcome.stderr and outcome.stdout == b""


@pytest.mark.parametrize("framing", ["--raw", "--null", "--length-prefixed"])
def test_framings_write_the_bytes_of_typed_messages(cli, bus, imu, framing):
    imu.send(IMU)
    body = bus.subscriber("imu", start="oldest").recv().body
    assert body in cli.run("sub", "imu", *ALL, framing).stdout
    assert framing in cli.run("sub", "imu", *ALL, framing, "--fields", "t", code=2).stderr


@pytest.mark.parametrize("options", [(), ("--format", "json"), ("--fields", "t")])
def test_a_bad_message_is_reported_and_the_next_one_printed(cli, imu, options):
    imu.send(IMU)
    imu.send_raw(b"\xc1 hostile")
    imu.send_raw(b"\x83\xa1t\xcb" + bytes(8) + b"\xa3acc\x93\x01\x02\xa1x\xa2ok\xc3")
    imu.send(IMU)
    outcome = cli.run("sub", "imu", *ALL, *options, code=1)
    assert outcome.stdout.count(b"\n") == 2
    first, second = outcome.stderr.splitlines()
    assert first.startswith("slipring: error: topic 'imu', sequence 1: ")
    assert second.startswith("slipring: error: topic 'imu', sequence 2: acc[")


def test_bad_messages_count_and_make_the_exit_code_1(cli, imu):
    imu.send_raw(b"")
    imu.send(IMU)
    assert cli.run("sub", "imu", *ALL, "--count", "2", code=1).stdout.startswith(b"#1 gyro  t=")


def test_a_pattern_mixes_typed_and_untyped_topics(cli, terminal, bus):
    bus.publisher("cam.imu", sender="gyro", schema=Imu).send(IMU)
    bus.publisher("cam.left").send(b"L\x1b")
    bus.publisher("cam.pose", schema=Pose).send(Pose(1.0, 2.0))
    typed = {"cam.imu: #0 gyro  t=0.01 acc=[0.1, 0.2, 9.8] ok=true", "cam.pose: #0  x=1.0 y=2.0"}
    assert set(terminal.run("sub", "cam.*", *ALL).decode().splitlines()) == typed | {r"cam.left: L\x1b"}
    assert set(cli.run("sub", "cam.*", *ALL).stdout.decode().split("\n")) == typed | {"cam.left: L\x1b", ""}
    records = {each["topic"]: each for each in cli.records("sub", "cam.*", *ALL, "--format", "json")}
    assert records["cam.left"]["body"] == "L\x1b" and records["cam.pose"]["value"] == {"x": 1.0, "y": 2.0}


def test_fields_of_a_pattern_skip_topics_without_them_and_report_each_once(cli, bus):
    bus.publisher("cam.imu", schema=Imu).send_many([IMU, IMU])
    bus.publisher("cam.left").send_many([b"a", b"b"])
    bus.publisher("cam.pose", schema=Pose).send_many([Pose(1.0, 2.0)] * 2)
    outcome = cli.run("sub", "cam.*", *ALL, "--fields", "t", code=1)
    assert outcome.stdout == b"cam.imu\t0.01\n" * 2
    assert outcome.stderr.count("\n") == 2
    assert (
        "'cam.left' has no schema" in outcome.stderr and "no field 't' in topic 'cam.pose'" in outcome.stderr
    )


def test_without_its_package_a_typed_topic_names_the_extra_and_raw_still_works(cli, bus, imu, tmp_path):
    imu.send(IMU)
    (tmp_path / "msgspec.py").write_text("raise ImportError('no msgspec')")
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from slipring.cli import main; main()"

    def run(*args):
        argv = cli.argv("sub", "imu", *ALL, *args)
        argv = [sys.executable, "-P", "-c", code, str(tmp_path), *argv[4:]]
        return subprocess.run(argv, capture_output=True, timeout=60)

    done = run()
    assert done.returncode == 1 and done.stdout == b""
    assert b'pip install "slipring[typed]"' in done.stderr and b"--raw" in done.stderr
    assert run("--raw").stdout == bus.subscriber("imu", start="oldest").recv().body


def test_json_of_a_typed_topic_is_read_back_by_pub(cli, bus):
    bus.publisher("all", schema=samples.Everything).send(samples.everything())
    bus.create("copy", schema=samples.Everything)
    lines = [json.dumps(each["value"]) for each in cli.records("sub", "all", *ALL, "--format", "json")]
    cli.run("pub", "copy", stdin="\n".join(lines).encode())
    bodies = [bus.subscriber(topic, start="oldest").recv().body for topic in ("all", "copy")]
    assert bodies[0] == bodies[1]


@dataclass
class Wide:
    values: Annotated[list[list[int]], "shape(1000, 100)"]


def test_a_large_array_is_cut_without_being_formatted(terminal, bus):
    bus.publisher("t", schema=Wide, capacity="4MiB").send(Wide([[7] * 100] * 1000))
    assert terminal.run("sub", "t", *ALL).decode().startswith("#0  values=[[7, 7, ")


def test_sub_waits_for_a_typed_topic(cli, bus):
    process = cli.start("sub", "imu", "--start", "oldest", "--count", "1", "--fields", "acc[1]")
    assert b"waiting for topic 'imu'" in process.stderr.readline()
    bus.publisher("imu", schema=Imu).send(IMU)
    assert cli.finish(process).stdout == b"0.2\n"


def test_a_field_that_a_later_topic_does_not_have_ends_sub(cli, bus):
    process = cli.start("sub", "imu", "--start", "oldest", "--fields", "x")
    assert b"waiting for topic 'imu'" in process.stderr.readline()
    bus.publisher("imu", schema=Imu).send(IMU)
    outcome = cli.finish(process)
    assert outcome.code == 1 and "no field 'x' in topic 'imu': its fields are t, acc, ok" in outcome.stderr


def test_a_topic_with_a_damaged_schema_does_not_stop_a_pattern(cli, bus):
    bus.create("cam.bad", schema=Imu)
    bus.publisher("cam.good", schema=Pose).send(Pose(1.0, 2.0))
    file = os.path.join(bus.path, "cam.bad.ring")
    with open(file, "r+b") as ring:
        ring.seek(ring.read().index(b'{"encoding"'))
        ring.write(b"[")
    outcome = cli.run("sub", "cam.*", *ALL, code=1)
    assert outcome.stdout == b"cam.good: #0  x=1.0 y=2.0\n"
    assert "cam.bad" in outcome.stderr and outcome.stderr.count("\n") == 1
    shown = [line.split() for line in cli.run("ls").stdout.decode().splitlines()]
    assert [(line[0], line[-1]) for line in shown[1:]] == [("cam.bad", "(damaged)"), ("cam.good", "Pose")]
