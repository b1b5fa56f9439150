# SPDX-License-Identifier: Apache-2.0
"""docs/spec/memory-layout.md agrees with the compiled core."""

import pytest

from layout import document
from slipring import _native

DOCUMENT = document.read()
TYPE_SIZES = {"u32": 4, "u64": 8, "i64": 8}


def compiled() -> dict[str, list[tuple[str, int, int]]]:
    structures: dict[str, list[tuple[str, int, int]]] = {}
    for structure, field, offset, size in _native.layout()[1]:
        structures.setdefault(structure, []).append((field, offset, size))
    return structures


def documented() -> dict[str, list[tuple[str, int, int]]]:
    return {
        name: [(field.name, field.offset, field.size) for field in fields]
        for name, fields in DOCUMENT.structures.items()
    }


def test_the_document_describes_exactly_the_compiled_structures():
    assert list(documented()) == list(compiled())


@pytest.mark.parametrize("structure", sorted(compiled()))
def test_a_table_of_the_document_equals_the_compiled_structure_row_for_row(structure):
    assert documented()[structure] == compiled()[structure]


def test_the_hash_in_the_document_is_the_compiled_one():
    assert DOCUMENT.constants["layout_hash"] == _native.layout()[0]


def test_the_hash_is_computed_as_documented():
    value = 0xCBF29CE484222325
    for structure, fields in DOCUMENT.structures.items():
        for field in fields:
            for byte in f"{structure}.{field.name}:{field.offset}:{field.size};".encode():
                value = (value ^ byte) * 0x100000001B3 % 2**64
    assert value == DOCUMENT.constants["layout_hash"]


@pytest.mark.parametrize("structure", sorted(compiled()))
def test_fields_have_the_size_of_their_type_and_do_not_overlap(structure):
    end = 0
    for field in DOCUMENT.structures[structure]:
        size = int(field.type[3:-1]) if field.type.startswith("u8[") else TYPE_SIZES[field.type]
        assert size == field.size, field
        assert field.offset >= end, field
        assert field.type.startswith("u8[") or field.offset % field.size == 0, field
        end = field.offset + field.size
    entry = {"ring_header": "page", "readers_header": "page"}.get(structure, f"{structure}_size")
    assert end <= DOCUMENT.constants[entry]


@pytest.mark.parametrize("word", sorted(DOCUMENT.words))
def test_the_parts_of_a_word_fill_it(word):
    lowest = 0
    for part in DOCUMENT.words[word].values():
        assert part.lowest == lowest
        lowest += part.width
    assert lowest == (32 if word == "futex" else 64)


def test_the_magic_numbers_spell_the_documented_texts():
    for constant, text in (("ring_magic", b"SLIPRNG1"), ("readers_magic", b"SLIPRDR1")):
        assert DOCUMENT.constants[constant].to_bytes(8, "little") == text
