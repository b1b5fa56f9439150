# SPDX-License-Identifier: Apache-2.0
"""docs/spec/frames.md agrees with the compiled core and is sufficient to decode a live pool."""

import mmap
import struct
from pathlib import Path

import numpy as np
import pytest

import slipring
from layout import document
from layout.independent_reader import Memory, Topic
from slipring import _native

RING = document.read()
FRAMES = document.read(document.DOCUMENT.with_name("frames.md"))
HASH, ROWS = _native.layout("frames")


def test_the_tables_equal_the_compiled_structures_row_for_row():
    documented = [
        (name, row.name, row.offset, row.size) for name, rows in FRAMES.structures.items() for row in rows
    ]
    assert documented == ROWS


def test_the_hash_in_the_document_is_the_compiled_one():
    assert FRAMES.constants["pool_layout_hash"] == HASH


def test_the_magic_number_spells_the_documented_text():
    assert FRAMES.constants["pool_magic"].to_bytes(8, "little") == b"SLIPFRM1"


@pytest.mark.parametrize("structure", FRAMES.structures)
def test_fields_do_not_overlap_and_fit(structure):
    end = 0
    for field in FRAMES.structures[structure]:
        assert field.offset >= end, field
        end = field.offset + field.size
    assert end <= FRAMES.constants[f"{structure}_size"]


def test_the_parts_of_a_buffers_word_fill_it():
    state, number = FRAMES.words["pool_buffer.word"].values()
    assert (state.lowest, state.width, number.lowest, number.width) == (0, 2, 2, 62)


class Pool:
    """A pool, decoded from the tables of the document alone."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.header = Memory(self.map, FRAMES, "pool_header")
        page = RING.constants["page"]
        place = 3 * page
        self.streams, self.places = [], []
        for entry in range(self.header["stream_count"]):
            entry_place = page + entry * FRAMES.constants["pool_stream_size"]
            stream = Memory(self.map, FRAMES, "pool_stream", entry_place)
            shape = struct.unpack(f"{stream['dimensions']}Q", stream["shape"][: 8 * stream["dimensions"]])
            dtype = np.dtype(stream["dtype"].rstrip(b"\0").decode())
            assert stream["frame_bytes"] == dtype.itemsize * np.prod(shape)
            assert stream["first_buffer"] == len(self.places)
            self.streams.append((stream["name"].rstrip(b"\0").decode(), shape, dtype, stream["first_id"]))
            for _ in range(stream["buffer_count"]):
                self.places.append(place)
                place += document.round_up(stream["frame_bytes"], page)
        assert place == self.header["file_size"] == len(self.map)

    def word(self, buffer: int) -> tuple[int, int]:
        size = FRAMES.constants["pool_buffer_size"]
        word = Memory(self.map, FRAMES, "pool_buffer", 2 * RING.constants["page"] + buffer * size)["word"]
        return tuple(part.of(word) for part in FRAMES.words["pool_buffer.word"].values())

    def close(self) -> None:
        self.map.close()


def announcement(body: bytes, streams: int) -> tuple[Memory, tuple[int, ...], bytes]:
    size = FRAMES.constants["frame_size"]
    frame = Memory(body, FRAMES, "frame")
    counts = struct.unpack_from(f"{streams}Q", body, size)
    return frame, counts, body[size + 8 * streams :]


def test_the_document_alone_decodes_a_live_pool(bus):
    streams = {"rgb": ((3, 5, 3), "u1", 2), "depth": ((4,), "<f4", 3)}
    frames = bus.frames("cam", streams=streams)
    pub, sub = frames.publisher(), frames.subscriber("depth")
    sent = []
    for number, stream in enumerate(("rgb", "depth", "depth", "rgb", "rgb")):
        with pub.frame(stream, meta=b"m%d" % number, start_ns=number + 1, end_ns=number + 2) as array:
            array[...] = number
            sent.append((stream, array.copy()))
    del array
    with sub.recv(0) as held, Topic(Path(bus.path), "cam", RING) as topic:
        pool = Pool(Path(bus.path, "cam.frames"))
        assert [s[:2] for s in pool.streams] == [("rgb", (3, 5, 3)), ("depth", (4,))]
        assert pool.header["topic_generation"] == topic.ring["generation"]
        assert topic.ring["content"] == RING.constants["content_frames"]
        seen = []
        for message in topic.messages():
            frame, counts, meta = announcement(message.body, len(pool.streams))
            assert frame["pool"] == pool.header["generation"] and frame["run"] == pool.header["runs"] == 1
            name, shape, dtype, _ = pool.streams[frame["stream"]]
            assert (message.type.decode(), meta) == (name, b"m%d" % message.seq)
            assert (frame["start_ns"], frame["end_ns"]) == (message.seq + 1, message.seq + 2)
            assert counts[frame["stream"]] == frame["id"] + 1
            if pool.word(frame["buffer"]) == (FRAMES.constants["buffer_sent"], frame["number"]):
                place = pool.places[frame["buffer"]]
                size = dtype.itemsize * int(np.prod(shape))
                array = np.frombuffer(pool.map[place : place + size], dtype).reshape(shape)
                assert sent[message.seq][0] == name and (array == sent[message.seq][1]).all()
                seen.append(message.seq)
        assert {1, 2, 4} <= set(seen) and counts == (3, 2)
        (reader,) = (r for r in range(64) if _mask(topic, r)[0])
        mask, generation = _mask(topic, reader)
        frame, _, _ = announcement(topic.read(held.seq).body, 2)
        assert (mask, generation) == (1 << frame["buffer"], pool.header["generation"])
        pool.close()


def _mask(topic: Topic, entry: int) -> tuple[int, int]:
    place = topic.geometry["readers_offset"] + entry * topic.geometry["reader_size"]
    memory = Memory(topic._readers_map, RING, "reader", place)
    return memory["held"], memory["pool"]


HEADER = "magic version page_size layout_hash generation topic_generation file_size stream_count buffer_count"
STREAM = "name frame_bytes item_size dimensions first_buffer buffer_count shape"


@pytest.mark.parametrize(
    ("structure", "field"),
    [("pool_header", name) for name in HEADER.split()] + [("pool_stream", name) for name in STREAM.split()],
)
def test_a_changed_header_is_refused_and_the_file_left_as_it_is(bus, structure, field):
    frames = bus.frames("cam", shape=(3, 4), dtype="u2", buffers=2)
    frames.publisher().close()
    path = Path(bus.path, "cam.frames")
    base = RING.constants["page"] if structure == "pool_stream" else 0
    place = base + next(row.offset for row in FRAMES.structures[structure] if row.name == field)
    contents = bytearray(path.read_bytes())
    contents[place] ^= 0x80
    if field == "generation":
        contents[place : place + 8] = bytes(8)
    path.write_bytes(contents)
    if field == "topic_generation":  # of a topic that was removed
        with pytest.raises(slipring.Corrupt):
            frames.streams()
        with frames.subscriber().recv(0) as frame:
            assert frame is None
        frames.publisher().close()
        assert frames.streams()
        return
    for use in (frames.streams, frames.subscriber, frames.publisher):
        with pytest.raises((slipring.WrongLayout, slipring.Corrupt), match=r"cam\.frames"):
            use()
    assert path.read_bytes() == contents
    assert "cam.frames" in bus.doctor()[0]["problem"]
    bus.remove("cam")


@pytest.mark.parametrize("size", [-1, 1, -4096, 4096, None])
def test_a_pool_of_another_size_is_refused(bus, size):
    frames = bus.frames("cam", shape=(3, 4), dtype="u2", buffers=2)
    frames.publisher().close()
    path = Path(bus.path, "cam.frames")
    with path.open("r+b") as file:
        file.truncate(0 if size is None else path.stat().st_size + size)
    with pytest.raises((slipring.WrongLayout, slipring.Corrupt), match=r"cam\.frames"):
        frames.subscriber()
    bus.remove("cam")
