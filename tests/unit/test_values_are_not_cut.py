# SPDX-License-Identifier: Apache-2.0
"""What numpy would wrap, cut off or drop half of is refused by name, in cells and frames alike; what fits is taken."""

import numpy as np
import pytest

import slipring
from slipring._bus.calls import codecs

CUT = [
    ("u1", [300, 1]),
    ("u1", [-1, 1]),
    ("i4", [2**40, 1]),
    ("i4", np.array([2**40, 1])),
    ("u8", [-1, 1]),
    ("?", [2, 1]),
    ("S3", [b"abcdef", b"a"]),
    ("U2", ["abc", "a"]),
    ("f4", [1e300, 1.0]),
    ("f8", [1j, 2]),
    ("u1", [1.5, 2.0]),
]
FITS = [
    ("u1", [255, 0]),
    ("u8", [2**63, 2**64 - 1]),
    ("i8", [-(2**63), 2**63 - 1]),
    ("f4", [0.1, float("inf")]),
    ("f8", [1, 2]),
    ("?", [True, False]),
    ("S3", [b"abc", b""]),
    ("c16", [1j, 2]),
]


@pytest.mark.parametrize(("dtype", "value"), CUT)
def test_cells_refuse_what_they_cannot_hold_and_keep_what_they_had(bus, dtype, value):
    cells = bus.cells("c", dtype=dtype, shape=2, depth=2)
    with cells.writer() as writer, cells.reader() as reader:
        with pytest.raises(slipring.BadArgument) as refusal:
            writer.put(value)
        assert refusal.value.argument == "value"
        assert reader.latest() is None


@pytest.mark.parametrize(("dtype", "value"), FITS)
def test_cells_take_what_they_can_hold(bus, dtype, value):
    cells = bus.cells("c", dtype=dtype, shape=2, depth=2)
    with cells.writer() as writer, cells.reader() as reader:
        writer.put(value)
        assert np.array_equal(reader.latest(), np.asarray(value).astype(dtype))


@pytest.mark.parametrize(
    ("dtype", "value"), [("u1", np.array([300.7, -5.2])), ("u1", [300, 1]), ("i2", [2**20, 0])]
)
def test_frames_refuse_what_they_cannot_hold_and_send_nothing(bus, dtype, value):
    frames = bus.frames("cam", shape=(2,), dtype=dtype, buffers=3)
    with frames.publisher() as pub, frames.subscriber() as sub:
        with pytest.raises(slipring.BadArgument) as refusal:
            pub.send(value)
        assert refusal.value.argument == "array"
        with sub.recv(0) as frame:
            assert frame is None
        pub.send(np.array([1, 2]))
        with sub.recv(0) as frame:
            assert list(frame.array) == [1, 2]


@pytest.mark.parametrize("shape", [2**61 + 1, 2**61, 2**64 // 8, (2**40, 2**40)])
def test_an_element_larger_than_can_be_leaves_nothing_behind(bus, shape):
    with pytest.raises(slipring.BadArgument) as refusal:
        bus.cells("c", dtype="f8", shape=shape)
    assert refusal.value.argument == "shape"
    bus.cells("c", dtype="f8", shape=3).writer().close()


def test_the_raw_codec_of_calls_refuses_a_buffer_of_objects():
    raw = codecs.find("raw")
    assert raw.encode_value(np.array([1], "u1")) == b"\x01"
    for encode in (raw.encode_value, lambda value: raw.encode_arguments((value,), {})):
        with pytest.raises(TypeError, match="objects or pointers"):
            encode(np.array([None]))
