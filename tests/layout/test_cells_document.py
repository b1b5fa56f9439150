# SPDX-License-Identifier: Apache-2.0
"""docs/spec/cells-layout.md agrees with the compiled core and is sufficient to decode live cells."""

from pathlib import Path

import pytest

from layout import document
from slipring import _native

PAGE = document.DOCUMENT.with_name("cells-layout.md")
DOCUMENT = document.read(PAGE)
HASH, ROWS = _native.layout("cells")
SIZES = {"u32": 4, "u64": 8, "i64": 8}


def documented() -> list[tuple[str, str, int, int]]:
    return [
        (structure, field.name, field.offset, field.size)
        for structure, fields in DOCUMENT.structures.items()
        for field in fields
    ]


def test_the_document_describes_exactly_the_compiled_structures():
    assert documented() == ROWS


def test_the_hash_is_the_compiled_one_and_computed_as_documented():
    value = 0xCBF29CE484222325
    for structure, field, offset, size in documented():
        for byte in f"{structure}.{field}:{offset}:{size};".encode():
            value = (value ^ byte) * 0x100000001B3 % 2**64
    assert value == DOCUMENT.constants["layout_hash"] == HASH


def test_the_layout_of_topics_is_not_touched_by_cells():
    assert _native.layout()[0] == document.read().constants["layout_hash"]
    with pytest.raises(ValueError, match="kind"):
        _native.layout("something else")


def test_fields_have_the_size_of_their_type_and_do_not_overlap():
    for structure, fields in DOCUMENT.structures.items():
        end = 0
        for field in fields:
            size = int(field.type[3:-1]) if field.type.startswith("u8[") else SIZES[field.type]
            assert (size, field.offset >= end) == (field.size, True), field
            end = field.offset + field.size
        assert end <= DOCUMENT.constants["page" if structure == "cells_header" else f"{structure}_size"]


class Decoder:
    """A reader of cells that uses the tables of the document alone."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.known = {**DOCUMENT.constants}
        for name in ("depth", "item_size"):
            self.known[name] = self.header(name)
        for place, formula in DOCUMENT.places.items():
            self.known[place] = document.evaluate(formula, self.known)
            assert self.known[place] == self.header(place), place
        assert len(self.data) == self.known["file_size"]

    def field(self, structure: str, name: str, base: int = 0) -> int:
        field = next(field for field in DOCUMENT.structures[structure] if field.name == name)
        return int.from_bytes(self.data[base + field.offset : base + field.offset + field.size], "little")

    def header(self, name: str) -> int:
        return self.field("cells_header", name)

    def slot(self, index: int) -> tuple[bool, int, int, int]:
        """Return (taken, cell, lap, kept)."""
        base = self.known["slots_offset"] + index * self.known["cells_slot_size"]
        word, bits = self.field("cells_slot", "word", base), (2 * self.known["depth"]).bit_length()
        kept = self.field("cells_slot", "kept", base)
        return bool(word & 1), word >> 1 & ((1 << bits) - 1), word >> (1 + bits), kept

    def cell(self, number: int) -> bytes:
        start = self.known["cells_offset"] + number * self.known["cell_stride"]
        return self.data[start : start + self.known["item_size"]]

    def own_cell(self) -> int:
        turn, bits = self.header("turn"), DOCUMENT.constants["number_bits"]
        intent = self.header("intent") >> 64 * (turn % 2) & (2**64 - 1)
        done = self.slot(turn % self.known["depth"])[2] == turn // self.known["depth"] + 1
        return intent >> (bits if done else 0) & ((1 << bits) - 1)


@pytest.mark.parametrize("depth", [1, 2, 3, 8, 100])
@pytest.mark.parametrize(("puts", "taken_after"), [(0, None), (1, None), (7, None), (250, 249), (250, 130)])
def test_the_document_alone_finds_every_element_and_every_cell(bus, depth, puts, taken_after):
    cells = bus.cells("c", size=6, depth=depth)
    writer, reader = cells.writer(), cells.reader()
    for number in range(puts):
        writer.put(b"%06d" % number)
        if number == taken_after:
            reader.snapshot()
    found = Decoder(Path(bus.path) / "c.cells")
    slots = [found.slot(index) for index in range(depth)]
    seen = {
        (lap - 1) * depth + index: found.cell(cell) for index, (_, cell, lap, _) in enumerate(slots) if lap
    }
    assert seen == {number: b"%06d" % number for number in range(max(0, puts - depth), puts)}
    fresh = sorted((lap - 1) * depth + index for index, (taken, _, lap, _) in enumerate(slots) if not taken)
    oldest = max(0, puts - depth, -1 if taken_after is None else taken_after + 1)
    assert fresh == list(range(oldest, puts))
    places = [cell for _, cell, _, _ in slots] + [kept for *_, kept in slots] + [found.own_cell()]
    assert sorted(places) == list(range(2 * depth + 1))
    assert found.header("format").to_bytes(2048, "little").rstrip(b"\0") == b'{"bytes": 6}'
    assert found.header("position") == (0 if taken_after is None else taken_after + 1)
