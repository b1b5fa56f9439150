# SPDX-License-Identifier: Apache-2.0
"""Programs in C and Java read the schema of a topic, and messages by it, from the documents alone."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import slipring
from foreign.peers import CORRUPT, USAGE, message
from layout import document
from layout.independent_reader import Topic
from schema import samples

LANGUAGES = ["c", "java"]
LAYOUT = document.read()


@dataclass
class Imu:
    t: float
    acc: tuple[float, float, float]
    name: str
    parts: list[dict[str, int]]
    note: str | None = None
    ok: bool = True


@pytest.mark.parametrize("size", [200, 4096, 4097, 1 << 20])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_foreign_program_reads_the_schema(bus, peers, language, size):
    asked = samples.schema_of_size(size)
    bus.create("t", capacity=4096, slots=16, schema=asked)
    peer = peers.schema(language)
    peer.expect(("schema", asked.to_bytes().hex()))
    peer.join()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_foreign_program_reads_that_there_is_no_schema(bus, peers, language):
    bus.create("t", capacity=4096, slots=16)
    peer = peers.schema(language)
    peer.expect(("schema", None))
    peer.join()


@pytest.mark.parametrize("place", ["first byte", "last byte", "schema_hash", "schema_size"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_damaged_schema_ends_a_foreign_program_with_a_reason(bus, peers, language, place):
    bus.create("t", capacity=4096, slots=16, schema=samples.schema_of_size(4096))
    with Topic(bus.path, "t", LAYOUT) as seen:
        begin = seen.geometry["schema_offset"]
    header = {row.name: row.offset for row in LAYOUT.structures["ring_header"]}
    offset = {"first byte": begin, "last byte": begin + 4095, **header}[place]
    flip(Path(bus.path, "t.ring"), offset)
    peer = peers.schema(language)
    code = peer.join(None)
    flip(Path(bus.path, "t.ring"), offset)
    assert code == CORRUPT, peer.stderr


def flip(path: Path, place: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1]))


@pytest.mark.parametrize("language", LANGUAGES)
def test_foreign_programs_publish_and_subscribe_on_a_topic_with_a_schema(bus, peers, language):
    count = 500
    bus.create("t", capacity=16384, slots=16, delivery="reliable", schema=samples.schema_of_size(5000))
    reader, python = peers.subscribe(language, "reliable"), bus.subscriber("t")
    reader.expect(("ready", 0))
    writer = peers.publish(language, "writer", count)
    writer.expect("ready")
    writer.say("go")
    for number in range(count):
        found = python.recv(60)
        assert (found.type, found.body) == message(number, 200)
        with pytest.raises(slipring.Undecodable, match="topic 't'"):
            _ = found.value
    writer.hear_sent(count)
    writer.join()
    with bus.publisher("t") as pub:
        pub.send({"t": 1.0, "why": bus.schema("t").fields[1][1].values[0][1]}, type="end")
    assert python.recv(60).value["t"] == 1.0
    assert reader.hear()[:4] == ("end", count + 1, 0, count + 1)
    reader.join()


NUMBERS = np.dtype(
    [
        ("t", "<f8"), ("a", "i1"), ("b", "<u2"), ("c", "<i4"), ("d", "<u8"), ("e", "<f4"), ("ok", "?"),
        ("when", "M8[ns]"), ("took", "m8[us]"), ("low", "<i8"),
    ],
    align=True,
)  # fmt: skip


def test_a_program_in_c_finds_the_fields_of_a_fixed_layout(bus, peers):
    rows = np.zeros(20, NUMBERS)
    for at, name in enumerate(NUMBERS.names):
        rows[name] = (np.arange(20) * (at + 1)).astype(NUMBERS[name]) if name != "ok" else np.arange(20) % 2
    rows["t"] /= 7
    rows["a"] -= 100
    rows["low"], rows["d"] = -(1 << 63), (1 << 64) - 1
    with bus.publisher("t", schema=NUMBERS) as pub:
        pub.send_many(rows)
        pub.send(rows[0], type="end")
    peer = peers.decode("c")
    for row in rows:
        moments = {name: int(row[name].astype("i8")) for name in ("when", "took")}
        peer.expect({name: row[name].item() for name in NUMBERS.names} | moments)
    peer.join()


def test_a_program_in_java_decodes_msgpack(bus, peers):
    sent = [
        Imu(number / 7, (0.5, -1.0, number), "ü'\\" * number, [{"a": number, "b": -(1 << 60)}] * number)
        for number in range(20)
    ]
    with bus.publisher("t", schema=Imu) as pub:
        for value in sent:
            pub.send(value)
        pub.send(sent[0], type="end")
    peer = peers.decode("java")
    for value in sent:
        peer.expect({**vars(value), "acc": list(value.acc)})
    peer.join()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_program_that_does_not_know_an_encoding_reports_it(bus, peers, language):
    bus.create("t", schema=Imu, encoding="json")
    peer = peers.decode(language)
    assert peer.join(None) == USAGE, peer.stderr
