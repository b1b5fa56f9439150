# SPDX-License-Identifier: Apache-2.0
"""pub on topics with a schema encodes JSON; info, schema and ls show the schema."""

import datetime
import decimal
import hashlib
import json
import uuid
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pyarrow as pa
import pytest

from schema import foreign, samples

Colour = samples.Colour


@dataclass
class Imu:
    t: float
    acc: tuple[float, float, float]
    ok: bool = True


@dataclass
class Order:
    key: uuid.UUID
    price: Annotated[decimal.Decimal, "decimal(10, 2)"]
    when: datetime.datetime
    took: datetime.timedelta
    day: datetime.date
    code: bytes
    colour: Colour
    note: str | None = None


ORDER = {
    "key": "00000000-0000-0000-0000-000000000005",
    "price": "1.50",
    "when": "2026-11-19T05:05:06+01:00",
    "took": "PT1.5S",
    "day": "2026-11-19",
    "code": "AP8=",
    "colour": "g",
}


@pytest.fixture
def values(bus):
    def values(topic: str, schema=None) -> list:
        return [message.value for message in bus.subscriber(topic, start="oldest", schema=schema).recv_many()]

    return values


def test_pub_encodes_json_arguments(cli, bus, values):
    bus.create("imu", schema=Imu)
    cli.run(
        "pub", "imu", '{"t": 1.0, "acc": [1, 2, 3]}', '{"t": "NaN", "acc": [1,2,"-Infinity"], "ok": false}'
    )
    first, second = values("imu", Imu)
    assert first == Imu(1.0, (1.0, 2.0, 3.0))
    assert str(second) == "Imu(t=nan, acc=(1.0, 2.0, -inf), ok=False)"


def test_pub_encodes_the_lines_of_stdin(cli, bus, values):
    bus.create("imu", schema=Imu)
    cli.run("pub", "imu", stdin=b'{"t": 1, "acc": [1, 2, 3]}\n{"t": 2, "acc": [1, 2, 3]}\n')
    assert [value.t for value in values("imu", Imu)] == [1.0, 2.0]


def test_pub_reads_the_json_forms_of_all_types(cli, bus, values):
    bus.create("o", schema=Order)
    cli.run("pub", "o", json.dumps(ORDER))
    assert values("o", Order) == [
        Order(
            uuid.UUID(int=5),
            decimal.Decimal("1.50"),
            datetime.datetime(2026, 11, 19, 4, 5, 6, tzinfo=datetime.UTC),
            datetime.timedelta(seconds=1.5),
            datetime.date(2026, 11, 19),
            b"\0\xff",
            Colour.GREEN,
        )
    ]


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("key", "x", "key='x' must be uuid: a string of 32 hexadecimal digits"),
        ("price", 1.5, "price=1.5 must be decimal(10, 2): a string"),
        ("price", "1.555", "price=Decimal('1.555') (Decimal) must be decimal(10, 2)"),
        ("when", "2026-11-19T05:05:06", "must be timestamp[us]: ISO 8601 with an offset"),
        ("took", "1.5s", "took='1.5s' must be duration[us]: ISO 8601"),
        ("day", 3, "day=3 must be date: ISO 8601"),
        ("code", "ü", "code='ü' must be bytes: base64 in a string"),
        ("colour", "b", "colour='b' (str) must be enum["),
        ("note", 5, "note=5 (int) must be str"),
        ("nothing", 5, "nothing is not a field of the schema: its fields are key, price"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_the_field_and_its_type(cli, bus, field, value, expected):
    bus.create("o", schema=Order)
    outcome = cli.run("pub", "o", json.dumps(ORDER), json.dumps({**ORDER, field: value}), code=1)
    assert expected in outcome.stderr and "topic 'o'" in outcome.stderr and "message 2" in outcome.stderr
    assert "1 message sent before the error" in outcome.stderr
    assert bus.stats("o")["published"] == 1


@pytest.mark.parametrize("text", ["hello", "{", '{"t": 1, "acc": [1, 2]}', "[" * 100_000, b"\xff", "", "1"])
def test_text_that_is_not_a_message_is_refused(cli, bus, text):
    bus.create("imu", schema=Imu)
    outcome = cli.run("pub", "imu", text, code=1)
    assert outcome.stderr.startswith("slipring: error: topic 'imu', message 1")
    assert outcome.stderr.count("\n") == 1 and len(outcome.stderr) < 400
    if text in ("hello", "{", b"\xff", ""):
        assert "is not JSON" in outcome.stderr and "--raw" in outcome.stderr


@pytest.mark.parametrize("framing", ["--raw", "--null", "--length-prefixed"])
def test_framings_send_bytes_into_typed_topics(cli, bus, framing):
    bus.create("imu", schema=Imu)
    body = b"\x83\xa1t\x01"
    stdin = {"--raw": body, "--null": body + b"\0", "--length-prefixed": b"\0\0\0\4" + body}[framing]
    cli.run("pub", "imu", framing, stdin=stdin)
    assert [message.body for message in bus.subscriber("imu", start="oldest").recv_many()] == [body]


def test_raw_sends_arguments_as_they_are(cli, bus):
    bus.create("imu", schema=Imu)
    cli.run("pub", "imu", "--raw", "a", "b")
    cli.run("pub", "t", "--raw", "a")
    assert [m.body for m in bus.subscriber("imu", start="oldest").recv_many()] == [b"a", b"b"]
    assert bus.subscriber("t", start="oldest").recv().body == b"a"


DTYPE = np.dtype([("t", "f4"), ("at", "M8[us]"), ("p", [("x", "i2")], (2,)), ("name", "U4"), ("b", "V2")])


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (DTYPE, {"t": 0.5, "at": "2026-11-19T00:00:00Z", "p": [{"x": 1}, {"x": 2}], "name": "ab", "b": "AAE="}),
        (np.dtype(("f8", (2,))), [0.5, 1.5]),
        (pa.schema([("t", pa.timestamp("us", "UTC")), ("x", pa.float64())]),
         [{"t": "2026-11-19T00:00:00Z", "x": 0.5}, {"t": None, "x": 1.5}]),
        (foreign.imu(), {"t": 1.5, "acc": [0.5], "at": {"x": 2.0, "y": 3}, "blob": "AP8=", "colour": 5}),
        (foreign.bfbs(), {**foreign.FLAT_IMU, "blob": "AP8="}),
    ],
    ids=["numpy", "numpy array", "arrow", "protobuf", "flatbuffers"],
)  # fmt: skip
def test_each_encoding_is_encoded_and_printed_back(cli, bus, declared, text):
    bus.create("a", schema=declared)
    bus.create("b", schema=declared)
    cli.run("pub", "a", json.dumps(text))
    (record,) = cli.records("sub", "a", "--start", "oldest", "--timeout", "0", "--format", "json")
    shown = record["value"]
    assert shown == text if isinstance(text, list) else {name: shown[name] for name in text} == text
    cli.run("pub", "b", json.dumps(shown))
    bodies = [bytes(bus.subscriber(topic, start="oldest").recv().body) for topic in "ab"]
    assert bodies[0] == bodies[1]


def test_a_row_of_an_arrow_topic_is_a_message(cli, bus):
    bus.create("t", schema=pa.schema([("x", pa.float64())]))
    cli.run("pub", "t", '{"x": 0.5}')
    assert bus.subscriber("t", start="oldest").recv().value.to_pylist() == [{"x": 0.5}]


def test_pub_creates_a_typed_topic_of_a_class_that_is_named(cli, bus, values, tmp_path):
    (tmp_path / "robot.py").write_text(
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Imu:\n    t: float\n    ok: bool = True\n"
    )
    env = {"PYTHONPATH": str(tmp_path)}
    process = cli.start("pub", "imu", '{"t": 1}', "--schema", "robot:Imu", "--encoding", "json", env=env)
    assert cli.finish(process).code == 0
    assert (bus.schema("imu").name, bus.schema("imu").encoding) == ("Imu", "json")
    assert values("imu") == [{"t": 1.0, "ok": True}]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("robot", "MODULE:CLASS"),
        ("no_such_module:Imu", "no module named 'no_such_module'"),
        ("json:Imu", "module json has no 'Imu'"),
        ("json:loads", "does not declare a message"),
    ],
)
def test_a_schema_that_is_not_there_creates_no_topic(cli, bus, schema, expected):
    outcome = cli.finish(cli.start("pub", "t", "x", "--schema", schema))
    assert outcome.code in (1, 2) and expected in outcome.stderr and outcome.stderr.count("\n") == 1
    assert bus.topics() == []


def test_info_shows_the_schema_and_its_fields(cli, bus):
    bus.create("imu", schema=Imu)
    schema = bus.schema("imu")
    lines = [line.split() for line in cli.run("info", "imu").stdout.decode().splitlines()]
    assert ["schema", "Imu,", "msgpack,", schema.hash[:12]] in lines
    at = lines.index(["fields"])
    assert lines[at + 1 :] == [
        ["NAME", "TYPE", "DEFAULT"],
        ["t", "float64", "-"],
        ["acc", "array[float64,", "3]", "-"],
        ["ok", "bool", "true"],
    ]
    (facts,) = cli.records("info", "imu", "--format", "json")
    assert facts["schema"] == {
        "name": "Imu",
        "encoding": "msgpack",
        "hash": schema.hash,
        "fields": [
            {"name": "t", "type": "float64"},
            {"name": "acc", "type": "array[float64, 3]"},
            {"name": "ok", "type": "bool", "default": True},
        ],
    }


def test_an_untyped_topic_has_no_schema_in_info_and_ls(cli, bus):
    bus.create("t")
    assert "schema" not in cli.records("info", "t", "--format", "json")[0]
    facts = [line.split() for line in cli.run("info", "t").stdout.decode().splitlines()]
    assert [fact for fact in facts if fact[0] in ("schema", "fields")] == [["schema", "bytes", "0", "B"]]
    assert b"SCHEMA" not in cli.run("ls").stdout
    assert "schema" not in cli.records("ls", "--format", "json")[0][0]


def test_ls_has_a_column_with_the_names_of_schemas(cli, bus):
    bus.create("imu", schema=Imu)
    bus.create("t")
    heading, imu, other = (line.split() for line in cli.run("ls").stdout.decode().splitlines())
    assert (heading[-1], imu[-1], other[-1]) == ("SCHEMA", "Imu", "-")
    first, second = cli.records("ls", "--format", "json")[0]
    assert first["schema"] == "Imu" and "schema" not in second


def test_schema_prints_each_form(cli, bus):
    bus.create("imu", schema=Imu)
    schema = bus.schema("imu")

    def printed(*options: str) -> bytes:
        return cli.run("schema", "imu", *options).stdout

    assert printed().decode() == printed("--as", "python").decode() == schema.python
    assert printed("--as", "ddl").decode() == f"{schema.ddl}\n"
    assert json.loads(printed("--as", "json")) == schema.json_schema
    assert printed("--as", "arrow").decode() == f"{schema.arrow}\n"
    assert hashlib.sha256(printed("--as", "document")).hexdigest() == schema.hash
    (found,) = cli.records("schema", "imu", "--format", "json")
    assert found["topic"] == "imu" and found["hash"] == schema.hash and found["ddl"] == schema.ddl
    assert found["json_schema"] == schema.json_schema


def test_schema_of_another_process_cannot_act_on_a_terminal(terminal, bus):
    dtype = np.dtype([("x", "f8")])
    bus.create("n", schema=dtype)

    @dataclass
    class Hostile:
        text: str = "\x1b[2J\x9b\x07"

    bus.create("h", schema=Hostile)
    for form in ("python", "ddl", "json", "document", "arrow"):
        assert all(
            line.isprintable() for line in terminal.run("schema", "h", "--as", form).decode().split("\n")
        )
    shown = terminal.run("info", "h", env={"TERM": "dumb"}).decode()
    assert r"\u001b[2J\u009b" in shown and all(line.isprintable() for line in shown.split("\n"))
    assert terminal.run("schema", "n").decode().startswith("import numpy\n")


def test_an_untyped_topic_has_no_schema_to_print(cli, bus):
    bus.create("t")
    outcome = cli.run("schema", "t", code=1)
    assert outcome.stdout == b""
    assert outcome.stderr.startswith("slipring: error: topic 't' has no schema: its messages are bytes")
    missing = cli.run("schema", "nope", code=1).stderr
    assert "nope" in missing and "`slipring ls`" in missing
    assert "--as" in cli.run("schema", "t", "--as", "ddl", "--format", "json", code=2).stderr
