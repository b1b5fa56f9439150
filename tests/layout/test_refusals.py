# SPDX-License-Identifier: Apache-2.0
"""Slipring and the independent reader refuse files of another layout and do not change them."""

from pathlib import Path

import pytest

import slipring
from layout import document
from layout.independent_reader import Damaged, Refused, Topic

LAYOUT = document.read()
HEADERS = {"ring": "ring_header", "readers": "readers_header"}


@pytest.fixture
def topic(bus):
    bus.create("t", capacity=4096, slots=16)
    return Path(bus.path)


def change(directory: Path, file: str, field: str) -> bytes:
    """Flip a bit of a field of a header. Return the contents of the file."""
    place = next(row for row in LAYOUT.structures[HEADERS[file]] if row.name == field)
    path = directory / f"t.{file}"
    contents = bytearray(path.read_bytes())
    contents[place.offset] ^= 1
    path.write_bytes(contents)
    return bytes(contents)


OPENERS = {
    "publisher": lambda bus: bus.publisher("t"),
    "subscriber": lambda bus: bus.subscriber("t"),
    "statistics": lambda bus: bus.stats("t"),
    "create": lambda bus: bus.create("t"),
}


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("field", ["magic", "version", "layout_hash"])
@pytest.mark.parametrize("file", HEADERS)
def test_a_file_with_another_signature_is_refused_and_not_touched(bus, topic, file, field, opener):
    changed = change(topic, file, field)
    with pytest.raises(slipring.WrongLayout, match=f"t.{file}"):
        OPENERS[opener](bus)
    assert (topic / f"t.{file}").read_bytes() == changed


@pytest.mark.parametrize("field", ["magic", "version", "layout_hash"])
@pytest.mark.parametrize("file", HEADERS)
def test_the_independent_reader_refuses_it_too(topic, file, field):
    change(topic, file, field)
    with pytest.raises(Refused, match=field):
        Topic(topic, "t", LAYOUT)


GEOMETRY = {
    "ring": "page_size file_size slot_count capacity writers_offset slots_offset passed_offset "
    "abandoned_offset payload_offset writer_count reader_count cursor_count generation boot_id",
    "readers": "page_size file_size readers_offset cursors_offset reader_count cursor_count generation",
}


@pytest.mark.parametrize(
    ("file", "field"), [(file, field) for file, fields in GEOMETRY.items() for field in fields.split()]
)
def test_both_readers_refuse_a_header_that_contradicts_itself(bus, topic, file, field):
    change(topic, file, field)
    for opener in OPENERS.values():
        with pytest.raises(slipring.Corrupt):
            opener(bus)
    with pytest.raises(Damaged):
        Topic(topic, "t", LAYOUT)


@pytest.mark.parametrize("opener", OPENERS)
def test_one_writer_with_a_table_for_more_is_corrupt(bus, topic, opener):
    """A second publisher could find an entry otherwise, and overwrite messages of the first."""
    change(topic, "ring", "writers")
    with pytest.raises(slipring.Corrupt, match="one writer"):
        OPENERS[opener](bus)


@pytest.mark.parametrize("size", [-1, 1, -4096, 4096])
@pytest.mark.parametrize("file", HEADERS)
def test_both_readers_refuse_a_file_of_another_size(bus, topic, file, size):
    path = topic / f"t.{file}"
    with path.open("r+b") as opened:
        opened.truncate(path.stat().st_size + size)
    with pytest.raises((slipring.Corrupt, slipring.WrongLayout)):
        bus.subscriber("t")
    with pytest.raises((Damaged, ValueError)):
        Topic(topic, "t", LAYOUT)
