# SPDX-License-Identifier: Apache-2.0
"""slipring frames: what streams there are, and a frame as a file."""

import io
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest


def publish(bus, array, **settings):
    array = np.asarray(array)
    pub = bus.frames("cam", shape=array.shape, dtype=array.dtype, **settings).publisher()
    pub.send(array)
    return pub


def decode(data: bytes) -> np.ndarray:
    """A PNG of unfiltered rows."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size)[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + size
    width, height, bits, colour, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [0, 0, 0]
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[colour]
    rows = zlib.decompress(chunks[b"IDAT"])
    stride = 1 + width * channels * bits // 8
    assert len(rows) == height * stride and set(rows[::stride]) == {0}
    pixels = b"".join(rows[row * stride + 1 : (row + 1) * stride] for row in range(height))
    return np.frombuffer(pixels, ">u2" if bits == 16 else "u1").reshape(height, width, channels)


@pytest.mark.parametrize("dtype", ["u1", "<u2", ">u2"])
@pytest.mark.parametrize("shape", [(3, 5), (3, 5, 1), (3, 5, 2), (3, 5, 3), (4, 2, 4)])
def test_a_frame_is_saved_as_png_and_reads_back_as_it_was(cli, bus, tmp_path, shape, dtype):
    image = (np.arange(np.prod(shape)) * 37 % 256).astype(dtype).reshape(shape)
    if image.dtype.itemsize == 2:
        image += 256
    publish(bus, image)
    cli.run("frames", "cam", "--save", str(tmp_path / "out.png"))
    assert (decode((tmp_path / "out.png").read_bytes()) == image.reshape(*shape[:2], -1)).all()


def test_a_png_goes_to_stdout(cli, bus):
    publish(bus, np.full((2, 2), 9, "u1"))
    assert (decode(cli.run("frames", "cam", "--save", "-").stdout) == 9).all()


def test_any_array_is_saved_as_npy(cli, bus, tmp_path):
    array = np.linspace(0, 1, 24).reshape(2, 3, 4)
    publish(bus, array)
    cli.run("frames", "cam", "--save", str(tmp_path / "out.npy"))
    assert (np.load(io.BytesIO((tmp_path / "out.npy").read_bytes())) == array).all()


@pytest.mark.parametrize("array", [np.zeros((2, 3), "f4"), np.zeros(4, "u1"), np.zeros((2, 3, 5), "u1")])
def test_an_array_that_a_png_cannot_hold_is_an_error_that_names_what_it_can_hold(cli, bus, tmp_path, array):
    publish(bus, array)
    outcome = cli.run("frames", "cam", "--save", str(tmp_path / "out.png"), code=2)
    assert "u1 or u2" in outcome.stderr and ".npy" in outcome.stderr
    assert not (tmp_path / "out.png").exists()


def test_the_newest_frame_of_the_named_stream_is_saved(cli, bus, tmp_path):
    pub = bus.frames("cam", streams={"a": ((2, 2), "u1"), "b": ((3, 3), "u1")}).publisher()
    for value in range(5):
        pub.send(np.full((2, 2), value, "u1"), "a")
    pub.send(np.full((3, 3), 99, "u1"), "b")
    cli.run("frames", "cam", "--stream", "a", "--save", str(tmp_path / "out.png"))
    assert (decode((tmp_path / "out.png").read_bytes()) == 4).all()
    outcome = cli.run("frames", "cam", "--save", str(tmp_path / "out.png"), code=2)
    assert "a, b" in outcome.stderr
    outcome = cli.run("frames", "cam", "--stream", "x", "--save", str(tmp_path / "out.png"), code=1)
    assert "'a', 'b'" in outcome.stderr


def test_streams_are_listed_for_the_eye_and_as_json(cli, bus):
    pub = bus.frames("rig", shape=(4, 6, 3), streams=("left", "right"), buffers=2).publisher()
    bus.create("plain")
    heading, left, right = (" ".join(row.split()) for row in cli.run("frames").stdout.decode().splitlines())
    assert heading == "TOPIC STREAM SHAPE DTYPE FRAME BUFFERS HELD"
    assert left == "rig left (4, 6, 3) |u1 72 B 2 0" and right.startswith("rig right")
    ((first, second),) = cli.records("frames", "rig", "--format", "json")
    assert (first["stream"], first["shape"], second["buffers"]) == ("left", [4, 6, 3], 2)
    assert "left" in cli.run("info", "rig").stdout.decode()
    ((_, rig),) = cli.records("ls", "--format", "json")
    assert rig["content"] == "frames"
    pub.close()
    cli.run("rm", "--yes", "rig")
    assert cli.records("frames", "--format", "json") == [[]]


def test_errors_name_their_fix(cli, bus, tmp_path):
    bus.create("plain")
    assert "messages, not frames" in cli.run("frames", "plain", code=2).stderr
    assert "no topic" in cli.run("frames", "none", code=1).stderr
    assert "--save" in cli.run("frames", "plain", "--stream", "a", code=2).stderr
    assert "TOPIC" in cli.run("frames", "--save", "x.png", code=2).stderr
    bus.frames("quiet", shape=(2, 2)).publisher()
    outcome = cli.run("frames", "quiet", "--timeout", "0.01", "--save", str(tmp_path / "x.png"), code=1)
    assert "no frame" in outcome.stderr
    publish(bus, np.zeros((2, 2), "u1"))
    assert ".png" in cli.run("frames", "cam", "--save", "x.gif", code=2).stderr
    assert "cannot write" in cli.run("frames", "cam", "--save", str(tmp_path / "no/x.png"), code=2).stderr


def test_a_damaged_topic_is_named_and_hides_no_other(cli, bus):
    pub = publish(bus, np.zeros((2, 3), "u1"), buffers=3)
    Path(bus.path, "bad.ring").write_bytes(b"damaged")
    Path(bus.path, "bad.readers").write_bytes(b"damaged")
    outcome = cli.run("frames", "--format", "json", code=1)
    assert [stream["topic"] for stream in json.loads(outcome.stdout)] == ["cam"]
    assert "'bad'" in outcome.stderr
    pub.close()
    bus.remove("bad")
