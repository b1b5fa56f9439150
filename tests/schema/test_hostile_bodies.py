# SPDX-License-Identifier: Apache-2.0
"""Bodies from anywhere: a value that fits, or Undecodable, in little time and memory."""

import random
import resource
import subprocess
import sys
import time
from functools import cache

import msgspec
import numpy as np
import pyarrow as pa
import pytest

import slipring
from schema import foreign, samples
from slipring._bus.schema.codec import Decoder, Encoder
from slipring._bus.schema.declare import declare
from slipring._bus.schema.encodings import flatbuffers_tables
from slipring._bus.schema.row_batches import BatchDecoder

RUNS = 3000


@cache
def valid() -> dict[str, tuple]:
    """A schema, a body of it, and a class that reads it."""
    everything, imu = samples.everything(), samples.an_imu("struct")
    dtype = np.dtype(
        [("t", "<f8"), ("name", "U3"), ("when", "M8[us]"), ("p", [("x", "i1")], (2,))], align=True
    )
    record = np.zeros((), dtype)
    record["name"] = "ü"
    arrow = pa.schema([
        ("a", pa.int32()), ("s", pa.string()), ("l", pa.list_(pa.struct([("x", pa.bool_())]))),
        ("f", pa.list_(pa.int8(), 2)),
        ("m", pa.map_(pa.string(), pa.int64())), ("when", pa.timestamp("us", "UTC")),
    ])  # fmt: skip
    row = {"a": 1, "s": "text", "l": [{"x": True}, None], "f": [1, 2], "m": {"k": 1}, "when": samples.MOMENT}
    found = {}
    for encoding in ("msgpack", "json"):
        schema = declare(samples.Everything, encoding)
        found[encoding] = (schema, Encoder(schema).encode(everything), samples.Everything)
        schema = declare(imu[0], encoding)
        found[f"{encoding} struct"] = (schema, Encoder(schema).encode(imu[1]), imu[0])
    for name, thing, value in (
        ("numpy", dtype, record[()]), ("arrow", arrow, [row] * 3), ("protobuf", foreign.imu(), foreign.IMU),
        ("flatbuffers", foreign.bfbs(), foreign.FLAT_IMU),
    ):  # fmt: skip
        schema = declare(thing)
        found[name] = (schema, bytes(Encoder(schema).encode(value)), None)
    return found


def mutated(dice: random.Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(dice.randrange(1, 5)):
        at = dice.randrange(len(found) + 1)
        match dice.randrange(6):
            case 0:
                found[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                del found[at : at + dice.randrange(1, 5)]
            case 2:
                found[at:at] = dice.choice(
                    [b"\xdd\xff\xff\xff\xff", b"\xff" * 4, bytes(8), b"[", b"\xd4\x01\x00", b"9" * 50]
                )
            case 3:
                number = dice.choice(
                    [0, 1, -1, 1 << 15, (1 << 31) - 1, -(1 << 31), len(data), dice.randrange(256)]
                )
                found[at : at + 4] = (number & 0xFFFFFFFF).to_bytes(4, "little")
            case 4:
                found[at : at + 8] = dice.choice([b"\xff" * 8, b"\0\0\0\0\0\0\0\x80", b"\xff" * 7 + b"\x7f"])
            case _:
                other = dice.randrange(len(data))
                found[at:at] = data[other : other + dice.randrange(1, 30)]
    return bytes(found)


@pytest.mark.parametrize(
    "case", ["msgpack", "json", "msgpack struct", "json struct", "numpy", "arrow", "protobuf", "flatbuffers"]
)
def test_mutated_bodies_fit_or_are_undecodable(case):
    schema, body, cls = valid()[case]
    dice = random.Random(case)
    plain, own = Decoder(schema), Decoder(schema, cls)
    encode, batches = Encoder(schema).encode, BatchDecoder(schema)
    fitting = []
    for _ in range(RUNS // 2):
        bad = mutated(dice, body)
        kept = []
        for decoder in (plain, own):
            try:
                kept.append(decoder.decode(bad))
            except slipring.Undecodable as error:
                assert len(str(error)) < 2000
        assert len(kept) in (0, 2) or cls is not None
        for value in kept:  # what a decoder accepts, an encoder accepts
            try:
                encode(value)
            except slipring.BadArgument as error:
                assert "NaN" in str(error)  # the default of a field that the body left out
        fitting.append(bad) if kept else None
    found = batches.decode([body, *fitting, body])
    found.batch.validate(full=True)


def test_random_bytes_are_undecodable_or_fit():
    dice = random.Random(1)
    for schema, _, cls in valid().values():
        for decoder in (Decoder(schema), Decoder(schema, cls)):
            for _ in range(RUNS // 10):
                try:
                    decoder.decode(dice.randbytes(dice.randrange(60)))
                except slipring.Undecodable:
                    continue


DEEP = {
    "msgpack": b"\x91" * 200_000,
    "json": b"[" * 200_000,
    "msgpack in an unknown field": b"\x81\xa1?" + b"\x91" * 200_000,
    "json in an unknown field": b'{"?":' + b"[" * 200_000,
    "protobuf": b"\x42\x7f" * 10_000,
}


@pytest.mark.parametrize("case", DEEP)
def test_deep_bodies_are_undecodable(case):
    schema, _, cls = valid()[case.split()[0]]
    for own in (None, cls):
        with pytest.raises(slipring.Undecodable):
            Decoder(schema, own).decode(DEEP[case])


HUGE = """
import resource, sys
from schema import test_hostile_bodies as hostile
from slipring._bus.schema.codec import Decoder
import slipring
cases = {case: [Decoder(schema), Decoder(schema, cls)] for case, (schema, _, cls) in hostile.valid().items()}
resource.setrlimit(resource.RLIMIT_AS, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + (3 << 30),) * 2)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for case, decoders in cases.items():
    for head in (b"\\xdd", b"\\xdf", b"\\xc6", b"\\xdb", b"\\xc9", b"\\x12"):
        for decoder in decoders:
            for body in (b"", b"\\x81\\xa4text", b"\\x81\\xa4many"):
                try:
                    decoder.decode(body + head + b"\\xff" * 4)
                except slipring.Undecodable:
                    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_claimed_sizes_reserve_no_memory():
    from pathlib import Path

    tests = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", HUGE], capture_output=True, text=True, check=False, cwd=tests
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 50_000  # KiB


def test_shared_flat_tables_are_not_read_more_often_than_there_are_bytes():
    """Vectors of n offsets to one table, several levels deep, would be n to the power of the levels."""
    text = "table A { x: int; } table B { a: [A]; } table C { b: [B]; } table R { c: [C]; } root_type R;"
    schema = declare(foreign.bfbs(text))
    count = 1000
    writer = flatbuffers_tables.Writer(b"")
    at = 0
    for _ in range(3):
        places = writer.table(at, [(0, 4, 4)], 1)
        start = writer.vector(places[0], count, 4, 4)
        at = start
    writer.table(at, [(0, 4, 4)], 1)
    body = relinked(writer.data, count)
    begun = time.monotonic()
    with pytest.raises(slipring.Undecodable, match="shared"):
        Decoder(schema).decode(bytes(body))
    assert time.monotonic() - begun < 20


def relinked(data: bytearray, count: int) -> bytearray:
    """Let all offsets of each vector lead where its first one does."""
    unpack = flatbuffers_tables.SCALARS["uint32"].unpack_from
    pack = flatbuffers_tables.SCALARS["uint32"].pack_into
    table = unpack(data, 0)[0]
    for _ in range(3):
        vector = table + 4
        start = vector + unpack(data, vector)[0] + 4
        target = start + unpack(data, start)[0]
        for item in range(count):
            pack(data, start + 4 * item, target - start - 4 * item)
        table = target
    return data


def test_a_body_of_a_megabyte_is_decoded_in_time():
    cls = samples.in_a_dataclass()[0]
    schema = declare(cls)
    good = Decoder(schema).decode(Encoder(schema).encode(samples.an_imu("dataclass")[2]))
    body = msgspec.msgpack.encode({**good, "tags": ["x"] * 300_000})
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(Decoder(schema).decode(body)["tags"]) == 300_000
    assert time.monotonic() - begun < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
