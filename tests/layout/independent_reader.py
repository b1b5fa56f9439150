# SPDX-License-Identifier: Apache-2.0
"""A reader of topics written from docs/spec/memory-layout.md alone: mmap and struct, no slipring, no offsets.

    with Topic(directory, "imu", layout) as topic:
        topic.messages()                               # all that can be read, in order
        topic.schema()                                 # its bytes, or None
        topic.oldest, topic.tail
        topic.writers(), topic.readers(), topic.cursors()

It maps both files read-only, holds nothing and writes nothing, so publishers may overwrite what it reads:
each message is copied and then checked against `oldest` (section 9.1 of the document).
"""

import fcntl
import mmap
import os
import re
import struct
from pathlib import Path
from typing import NamedTuple

from layout.document import Layout, evaluate

FORMATS = {"u32": "I", "u64": "Q", "i64": "q"}  # native: one aligned load each
LOCK = "hhqqi4x"  # struct flock: type, whence, start, length, pid


class Refused(Exception):
    """The file is not a topic of this layout."""


class Damaged(Exception):
    """The contents of the file contradict themselves."""


class Message(NamedTuple):
    seq: int
    time_ns: int
    sender: bytes
    type: bytes
    body: bytes


class Writer(NamedTuple):
    entry: int
    alive: bool
    pid: int
    name: bytes
    published: int
    bytes: int


class Reader(NamedTuple):
    entry: int
    alive: bool
    pid: int
    kind: int
    position: int
    received: int
    lost: int
    filtered: int
    hold: int | None


class Cursor(NamedTuple):
    name: bytes
    position: int
    attached: bool


class Memory:
    """The fields of a structure by name, at an offset of a mapping."""

    def __init__(self, mapping: mmap.mmap, layout: Layout, structure: str, base: int = 0) -> None:
        self._mapping = mapping
        self._base = base
        self._fields = {field.name: field for field in layout.structures[structure]}

    def __getitem__(self, name: str):
        field = self._fields[name]
        place = self._base + field.offset
        if field.type in FORMATS:
            return struct.unpack_from(FORMATS[field.type], self._mapping, place)[0]
        return self._mapping[place : place + field.size]


class Topic:
    def __init__(self, directory: Path, name: str, layout: Layout) -> None:
        self._layout = layout
        self._constant = layout.constants
        self._files = [open(Path(directory) / f"{name}.{suffix}", "rb") for suffix in ("ring", "readers")]  # noqa: SIM115
        self._maps: list[mmap.mmap] = []
        try:
            for file in self._files:
                self._maps.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            self._ring_map, self._readers_map = self._maps
            self.ring = Memory(self._ring_map, layout, "ring_header")
            self.readers_header = Memory(self._readers_map, layout, "readers_header")
            self._check_signature(self.ring, "ring_magic")
            self._check_signature(self.readers_header, "readers_magic")
            self.geometry = self._place()
            self._check_geometry()
        except BaseException:
            self.close()
            raise

    # Opening

    def _check_signature(self, header: Memory, magic: str) -> None:
        signature = {"magic": magic, "version": "layout_version", "layout_hash": "layout_hash"}
        for field, constant in signature.items():
            if header[field] != self._constant[constant]:
                raise Refused(f"{field} is {header[field]:#x}, not {self._constant[constant]:#x}")

    def _place(self) -> dict[str, int]:
        counts = ("slot_count", "capacity", "writer_count", "reader_count", "cursor_count", "schema_size")
        known = {**self._constant, **{name: self.ring[name] for name in counts}}
        if known["schema_size"] > known["max_schema"]:
            raise Damaged(f"a schema has {known['schema_size']} bytes")
        for place, formula in self._layout.places.items():
            known[place] = evaluate(formula, known)
        return known

    def _check_geometry(self) -> None:
        g = self.geometry
        ring = ("writers_offset", "slots_offset", "passed_offset", "abandoned_offset", "payload_offset")
        readers = ("readers_offset", "cursors_offset", "reader_count", "cursor_count")
        sound = (
            all(self.ring[name] == g[name] for name in ring)
            and all(self.readers_header[name] == g[name] for name in readers)
            and self.ring["page_size"] == self.readers_header["page_size"] == g["page"]
            and self.ring["file_size"] == g["ring_size"] == len(self._ring_map)
            and self.readers_header["file_size"] == g["readers_size"] == len(self._readers_map)
            and self.ring["generation"] == self.readers_header["generation"]
            and self.ring["boot_id"] == boot_id()
        )
        if not sound:
            raise Damaged("the headers contradict themselves, each other or the files")

    # Reading

    def schema(self) -> bytes | None:
        """Return the bytes of the schema after a comparison of their hash, or None if the topic has none."""
        place, size = self.geometry["schema_offset"], self.geometry["schema_size"]
        if size == 0:
            return None
        data = self._ring_map[place : place + size]
        if fnv1a(data) != self.ring["schema_hash"]:
            raise Damaged("the schema has another hash than its header")
        return data

    @property
    def tail(self) -> int:
        """Return the tail, including a message that its only writer has made READY but not counted yet."""
        tail = self.ring["tail"]
        return tail + 1 if self._look(tail)[0] == self._constant["state_ready"] else tail

    @property
    def oldest(self) -> int:
        return self.ring["oldest"]

    @property
    def abandoned_below_oldest(self) -> int:
        """Return the number of sequences below `oldest` that never became messages."""
        while True:
            oldest = self.oldest
            index = oldest % self.geometry["slot_count"]
            place = self.geometry["passed_offset"] + index * self._constant["word_size"]
            (passed,) = struct.unpack_from("Q", self._ring_map, place)
            if self.oldest == oldest:
                return passed - oldest

    def _slot(self, seq: int) -> Memory:
        g = self.geometry
        base = g["slots_offset"] + seq % g["slot_count"] * g["slot_size"]
        return Memory(self._ring_map, self._layout, "slot", base)

    def _look(self, seq: int) -> tuple[int | None, Memory]:
        """Return the state of a sequence, or None if its slot has another lap."""
        slot = self._slot(seq)
        parts = self._layout.words["slot.word"]
        word = slot["word"]
        lap = seq // self.geometry["slot_count"] + 1
        return (parts["state"].of(word) if parts["lap"].of(word) == lap else None), slot

    def _payload(self, position: int, size: int) -> bytes:
        """Return bytes of the payload. Join the parts of a message that wraps."""
        base, capacity = self.geometry["payload_offset"], self.geometry["capacity"]
        place = base + position % capacity
        first = self._ring_map[place : min(place + size, base + capacity)]
        return first + self._ring_map[base : base + size - len(first)]

    def _message(self, seq: int, slot: Memory) -> Message:
        lengths, end, time_ns = slot["lengths"], slot["end"], slot["time_ns"]
        parts = self._layout.words["slot.lengths"]
        body_size, type_size, sender_size = (parts[name].of(lengths) for name in ("body", "type", "sender"))
        sizes = {"body": body_size, "meta": type_size + sender_size}
        start = end - evaluate(self._layout.message["reserved"], sizes)
        meta = self._payload(start + evaluate(self._layout.message["meta_place"], sizes), sizes["meta"])
        body = self._payload(start, body_size)
        return Message(seq, time_ns, meta[type_size:], meta[:type_size], body)

    def read(self, seq: int) -> Message | None:
        """Return the message, or None if it is overwritten, abandoned or not published yet."""
        state, slot = self._look(seq)
        if state != self._constant["state_ready"] or self.oldest > seq:
            return None
        message = self._message(seq, slot)
        return message if self.oldest <= seq else None

    def messages(self) -> list[Message]:
        """Return all readable messages in order, up to the first open claim of a live writer."""
        found = []
        for seq in range(self.oldest, self.tail):
            state, _ = self._look(seq)
            if state == self._constant["state_claimed"] and self._writer_of(seq).alive:
                break
            message = self.read(seq)
            if message is not None:
                found.append(message)
        return found

    def states(self) -> list[int | None]:
        return [self._look(seq)[0] for seq in range(self.oldest, self.tail)]

    # Tables

    def _locked(self, file: int, offset: int) -> bool:
        question = struct.pack(LOCK, fcntl.F_RDLCK, os.SEEK_SET, offset, 1, 0)
        answer = fcntl.fcntl(self._files[file], fcntl.F_OFD_GETLK, question)
        return struct.unpack(LOCK, answer)[0] != fcntl.F_UNLCK

    def _kind(self, memory: Memory) -> int:
        return self._layout.words["state"]["kind"].of(memory["state"])

    def _writer(self, entry: int) -> Writer:
        place = self.geometry["writers_offset"] + entry * self.geometry["writer_size"]
        w = Memory(self._ring_map, self._layout, "writer", place)
        name = w["name"][: w["name_size"]]
        published, size = (w[field] - w[f"{field}_before"] for field in ("published", "bytes"))
        return Writer(entry, self._locked(0, place), w["pid"], name, published, size)

    def _writer_of(self, seq: int) -> Writer:
        return self._writer(self._layout.words["slot.word"]["writer"].of(self._slot(seq)["word"]))

    def writers(self) -> list[Writer]:
        g = self.geometry
        places = (g["writers_offset"] + entry * g["writer_size"] for entry in range(g["writer_count"]))
        memories = (Memory(self._ring_map, self._layout, "writer", place) for place in places)
        free = self._constant["kind_free"]
        return [self._writer(entry) for entry, w in enumerate(memories) if self._kind(w) != free]

    def readers(self) -> list[Reader]:
        found = []
        for entry in range(self.geometry["reader_count"]):
            place = self.geometry["readers_offset"] + entry * self.geometry["reader_size"]
            r = Memory(self._readers_map, self._layout, "reader", place)
            if self._kind(r) == self._constant["kind_free"]:
                continue
            hold = None if r["hold"] == self._constant["no_hold"] else r["hold"]
            counts = (r[name] for name in ("position", "received", "lost", "filtered"))
            found.append(Reader(entry, self._locked(1, place), r["pid"], self._kind(r), *counts, hold))
        return found

    def cursors(self) -> list[Cursor]:
        found = []
        for entry in range(self.geometry["cursor_count"]):
            place = self.geometry["cursors_offset"] + entry * self.geometry["cursor_size"]
            c = Memory(self._readers_map, self._layout, "cursor", place)
            if self._kind(c) == self._constant["kind_cursor"]:
                found.append(Cursor(c["name"].rstrip(b"\0"), c["position"], self._locked(1, place)))
        return found

    def close(self) -> None:
        for mapping in self._maps:
            mapping.close()
        for file in self._files:
            file.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def fnv1a(data: bytes) -> int:
    """Return the hash of section 2."""
    found = 0xCBF29CE484222325
    for byte in data:
        found = (found ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return found


def boot_id() -> bytes:
    text = Path("/proc/sys/kernel/random/boot_id").read_text()
    return bytes.fromhex(re.sub(r"[^0-9a-f]", "", text))
