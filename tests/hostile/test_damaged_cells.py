# SPDX-License-Identifier: Apache-2.0
"""Damaged, foreign and lying cells: exceptions with a name, never a signal or a hang (promise 18).

The words that steer are twisted in core/tests/cells; here are files and texts that only Python reads."""

import contextlib
import os
import random
from pathlib import Path

import pytest

import slipring
from hostile.damage import random_write
from support.waiting import eventually

FORMATS = [
    b"",
    b"{}",
    b"[]",
    b"null",
    b'"text"',
    b"\xff\xfe\x00\x01",
    b"[" * 2000,
    b'{"dtype": "O", "shape": []}',
    b'{"dtype": [["a", "O"]], "shape": []}',
    b'{"dtype": "<f8", "shape": [-1]}',
    b'{"dtype": "<f8", "shape": [1e9]}',
    b'{"dtype": "<f8", "shape": [99999999999999999999]}',
    b'{"dtype": "<f8", "shape": {}}',
    b'{"dtype": "<f4", "shape": []}',
    b'{"dtype": "V99999999", "shape": []}',
    b'{"dtype": {"names": 1}, "shape": []}',
    b'{"dtype": [[]], "shape": []}',
    b'{"dtype": [["a", [["b", "O"]]]], "shape": []}',
    b'{"bytes": -8}',
    b'{"bytes": 9}',
    b'{"bytes": "8"}',
    b'{"bytes": true}',
]


@pytest.fixture
def file(bus):
    bus.cells("c", dtype="f8", depth=2).writer().put(1)
    return Path(bus.path) / "c.cells"


def overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


@pytest.mark.parametrize("text", FORMATS, ids=lambda text: ascii(text[:30]))
def test_a_lying_format_is_corrupt(bus, file, text):
    overwrite(file, 2048, text.ljust(2048, b"\0")[:2047])
    overwrite(file, 84, len(text[:2047]).to_bytes(4, "little"))
    with pytest.raises(slipring.Corrupt):
        bus.cells("c")
    with pytest.raises(slipring.SlipringError):
        bus.cells("c", dtype="f8")
    bus.stats("c")
    bus.remove("c")


@pytest.mark.foreign_files
@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 8191, 1 << 20])
def test_a_cut_or_extended_file_is_refused_found_and_removed(bus, file, size):
    os.truncate(file, size)
    for use in (lambda: bus.cells("c"), lambda: bus.stats("c"), lambda: bus.cells("c", dtype="f8")):
        with pytest.raises((slipring.Corrupt, slipring.WrongLayout)):
            use()
    assert [finding["topic"] for finding in bus.doctor()] == ["c"]
    bus.remove("c")
    assert bus.doctor() == []


@pytest.mark.foreign_files
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_link_directory_or_pipe_is_not_cells(bus, file, make):
    file.unlink()
    make(file)
    with pytest.raises(slipring.WrongLayout):
        bus.cells("c")
    assert bus.doctor()


def test_a_file_deleted_by_hand_is_noticed_by_both_ends(bus, file, background):
    cells = bus.cells("c")
    writer, reader = cells.writer(), cells.reader()
    reader.latest()
    waiting = background(reader.wait)
    waiting.wait_until_asleep()
    file.unlink()
    with pytest.raises(slipring.TopicGone):
        waiting.result()

    def gone(call) -> bool:
        try:
            call()
        except slipring.TopicGone:
            return True
        return False

    eventually(lambda: gone(lambda: writer.put(1)), "the writer noticing")


def use_all(bus, cells, writer, reader) -> None:
    for call in (
        lambda: writer.put(1.5),
        reader.snapshot,
        reader.latest,
        lambda: reader.wait(0),
        cells.stats,
        lambda: bus.doctor(repair=True),
    ):
        with contextlib.suppress(slipring.SlipringError):
            call()


def test_random_writes_into_live_cells_raise_errors_only(bus):
    dice = random.Random(os.environ.get("SLIPRING_HOSTILE_SEED", "7"))
    for trial in range(120):
        cells = bus.cells(f"c{trial}", dtype="f8", depth=3)
        path = Path(bus.path) / f"c{trial}.cells"
        with cells.writer() as writer, cells.reader() as reader:
            for _ in range(6):
                random_write(dice, [path]).make()
                use_all(bus, cells, writer, reader)
        bus.remove(path.stem, missing_ok=True)
