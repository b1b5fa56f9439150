# SPDX-License-Identifier: Apache-2.0
"""numpy arrays as arguments and answers of codec "msgpack"."""

import struct
import subprocess
import sys

import pytest

from slipring._bus.calls import arrays
from slipring._bus.calls.codecs import Msgpack

numpy = pytest.importorskip("numpy")

ARRAYS = [
    numpy.arange(6, dtype="f8").reshape(2, 3),
    numpy.arange(24, dtype="i2").reshape(2, 3, 4).transpose(2, 0, 1),
    numpy.array(3.5),
    numpy.zeros((0, 4), "u1"),
    numpy.array([True, False]),
    numpy.array([1 + 2j], "c8"),
    numpy.array([1, 2], ">i4"),
    numpy.array(["ab", "c"]),
    numpy.array([b"ab", b"c"]),
    numpy.array(["2024-01-01", "NaT"], "M8[ns]"),
    numpy.array([5], "m8[s]"),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype.str}{array.shape}")
def test_an_array_arrives_as_it_was(bus, array):
    with bus.server("calc") as server, bus.client("calc", timeout=20) as client:
        seen = []

        @server.method
        def echo(value, *, named=None):
            seen.append(value)
            return {"answer": [value]} if named is None else named

        server.start()
        for found in (client.call("echo", array)["answer"][0], client.call("echo", 0, named=array)):
            assert (found.dtype, found.shape) == (array.dtype, array.shape)
            assert found.tobytes() == array.tobytes()
            assert found.flags.writeable
        assert isinstance(seen[0], numpy.ndarray)


def test_a_large_array_travels_in_pieces(bus):
    with bus.server("calc") as server, bus.client("calc", timeout=60, capacity="64KiB") as client:
        server.method(lambda n: numpy.arange(n), name="big")
        server.start()
        assert (client.call("big", 1_000_000) == numpy.arange(1_000_000)).all()


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (numpy.float32(0.5), 0.5),
        (numpy.int64(7), 7),
        (numpy.bool_(True), True),
        (numpy.str_("a"), "a"),
        (numpy.bytes_(b"a"), b"a"),
    ],
)
def test_numpy_scalars_arrive_as_numbers(bus, value, plain):
    codec = Msgpack()
    found = codec.decode_value(memoryview(codec.encode_value([value])))
    assert found == [plain]
    assert type(found[0]) is type(plain)


@pytest.mark.parametrize(
    "value",
    [numpy.array([object()]), numpy.zeros(2, "i4,f4"), numpy.ma.masked_array([1, 2], [True, False])],
    ids=["objects", "records", "masked"],
)
def test_an_array_that_cannot_be_sent_is_refused_at_the_call(bus, value):
    with bus.server("calc") as server, bus.client("calc", timeout=20) as client:
        server.method(lambda value: value, name="echo")
        server.start()
        with pytest.raises(TypeError, match="cannot be sent"):
            client.call("echo", value)


def head(dtype: bytes, *shape: int) -> bytes:
    return bytes([len(dtype)]) + dtype + struct.pack(f"<B{len(shape)}Q", len(shape), *shape)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x03<f8", b"\x03<f8\x02" + bytes(8), head(b"<f8", 2) + bytes(15), head(b"<f8", 2) + bytes(17),
        head(b"|O8", 1) + bytes(8), head(b"<f8", 2**63, 2) + bytes(8), head(b"|V8", 1) + bytes(8),
        head(b"<U0", 10**12), head(b"\xff\xff\xff", 1), b"\xff" * 700, head(b"<f8", *[1] * 33) + bytes(8),
        head(b"<f9", 1) + bytes(9),
    ],
    ids=range(13),
)  # fmt: skip
def test_bytes_that_are_not_an_array_are_refused(data):
    with pytest.raises((ValueError, TypeError)):
        arrays.decode(memoryview(data))


def test_an_array_without_numpy_names_the_extra():
    program = f"""
import sys
sys.modules["numpy"] = None
from slipring._bus.calls import arrays
try:
    arrays.decode(memoryview({head(b"<f8", 1) + bytes(8)!r}))
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == 'an array in a call needs numpy: pip install "slipring[numpy]"\n', done.stderr


def test_other_extensions_are_left_as_they_are():
    msgspec = pytest.importorskip("msgspec")
    codec, other = Msgpack(), msgspec.msgpack.Ext(7, b"x")
    assert codec.decode_value(memoryview(codec.encode_value(other))) == other
