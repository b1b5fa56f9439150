# SPDX-License-Identifier: Apache-2.0
"""Other things than topics at a topic's path: a typed error, and the thing is untouched (promise 18)."""

import os
import random
import stat
from pathlib import Path

import pytest

import slipring

pytestmark = pytest.mark.foreign_files

REFUSALS = (slipring.WrongLayout, slipring.Corrupt)
CONTENTS = {
    "empty": lambda whole: b"",
    "one byte": lambda whole: whole[:1],
    "cut in the header": lambda whole: whole[:100],
    "a page": lambda whole: whole[:4096],
    "cut in the middle": lambda whole: whole[: len(whole) // 2],
    "one page short": lambda whole: whole[:-4096],
    "one byte short": lambda whole: whole[:-1],
    "too long": lambda whole: whole + bytes(4096),
    "zeros": lambda whole: bytes(len(whole)),
    "noise": lambda whole: random.Random(1).randbytes(len(whole)),
    "text": lambda whole: b"#!/bin/sh\necho not a topic\n" * 1000,
    "an ELF program": lambda whole: Path("/bin/true").read_bytes(),
    "wrong magic": lambda whole: bytes([whole[0] ^ 1]) + whole[1:],
    "header of noise": lambda whole: whole[:8] + random.Random(2).randbytes(4088) + whole[4096:],
}


def attach_calls(bus):
    """Every way to attach to topic "t"; each is refused when it is opened or first used."""

    def subscribe(**settings):
        with bus.subscriber("t", **settings) as sub:
            sub.recv(timeout=0)

    return {
        "publisher": lambda: bus.publisher("t").send(b"m"),
        "create": lambda: bus.create("t"),
        "create anew": lambda: bus.create("t", exist_ok=False, capacity="1MiB", slots=64),
        "subscriber": lambda: subscribe(start="oldest"),
        "lossy subscriber": lambda: subscribe(lossy=True),
        "cursor": lambda: subscribe(cursor="c"),
        "join": lambda: bus.join("t", "me").recv(timeout=0),
        "stats": lambda: bus.stats("t"),
        "cursors": lambda: bus.cursors("t"),
    }


def refused_as(attach, errors, call: str) -> None:
    try:
        attach()
    except errors:
        return
    pytest.fail(f"{call} was accepted")


def state_of(path: Path) -> tuple:
    status = path.lstat()
    contents = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
    return (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, contents)


@pytest.fixture
def whole(bus, bus_root):
    with bus.publisher("t", capacity="64KiB", slots=64) as pub:
        pub.send(b"message")
    return {name: bus_root / "test" / name for name in ("t.ring", "t.readers")}


@pytest.mark.parametrize("name", ["t.ring", "t.readers"])
@pytest.mark.parametrize("contents", CONTENTS)
def test_wrong_contents_are_refused_by_name_and_not_touched(bus, whole, name, contents):
    path = whole[name]
    path.write_bytes(CONTENTS[contents](path.read_bytes()))
    before = {each: state_of(each) for each in whole.values()}
    for call, attach in attach_calls(bus).items():
        refused_as(attach, (*REFUSALS, slipring.TopicExists) if call == "create anew" else REFUSALS, call)
    assert {each: state_of(each) for each in whole.values()} == before
    assert any(finding["topic"] == "t" for finding in bus.doctor())
    assert {each: state_of(each) for each in whole.values()} == before, "doctor() without repair changed it"


def header_field(structure: str, name: str) -> tuple[int, int]:
    from slipring import _native

    _, fields = _native.layout()
    for row in fields:
        if row[:2] == (structure, name):
            return row[2:4]
    raise AssertionError(f"the core's layout table has no {structure}.{name}")


@pytest.mark.parametrize("field", ["magic", "version", "layout_hash"])
@pytest.mark.parametrize(("name", "structure"), [("t.ring", "ring_header"), ("t.readers", "readers_header")])
def test_other_layout_is_refused_as_wrong_layout_and_not_touched(bus, whole, name, structure, field):
    offset, size = header_field(structure, field)
    contents = bytearray(whole[name].read_bytes())
    contents[offset : offset + size] = (
        int.from_bytes(contents[offset : offset + size], "little") + 1
    ).to_bytes(size, "little")
    whole[name].write_bytes(contents)
    before = {each: state_of(each) for each in whole.values()}
    for call, attach in attach_calls(bus).items():
        with pytest.raises(
            (slipring.WrongLayout, slipring.TopicExists) if "anew" in call else slipring.WrongLayout
        ):
            attach()
    assert {each: state_of(each) for each in whole.values()} == before


def test_readers_file_of_another_topic_is_refused(bus, whole, bus_root):
    bus.create("other", capacity="64KiB", slots=64)
    whole["t.readers"].write_bytes((bus_root / "test" / "other.readers").read_bytes())
    for call, attach in attach_calls(bus).items():
        with pytest.raises((*REFUSALS, slipring.TopicExists) if "anew" in call else REFUSALS):
            attach()


NO_FILES = {
    "directory": lambda path, target: path.mkdir(),
    "fifo": lambda path, target: os.mkfifo(path),
    "socket": lambda path, target: os.mknod(path, stat.S_IFSOCK | 0o600),
    "symlink to a file": lambda path, target: path.symlink_to(target),
    "symlink to a device": lambda path, target: path.symlink_to("/dev/zero"),
    "dangling symlink": lambda path, target: path.symlink_to(target.with_name("missing")),
    "symlink loop": lambda path, target: path.symlink_to(path),
}


@pytest.mark.parametrize("name", ["t.ring", "t.readers"])
@pytest.mark.parametrize("kind", NO_FILES)
def test_an_entry_that_is_not_a_file_is_refused_without_a_wait_or_a_write_through_it(
    bus, whole, tmp_path, background, name, kind
):
    target = tmp_path / "target"
    target.write_bytes(whole[name].read_bytes())  # even a believable file is not reached through a symlink
    before = state_of(target)
    whole[name].unlink()
    NO_FILES[kind](whole[name], target)
    for call, attach in attach_calls(bus).items():
        refused_as(background(attach).result, slipring.SlipringError, call)
    background(bus.doctor).result()
    background(bus.topics).result()
    assert state_of(target) == before
    assert not target.with_name("missing").exists()
    assert whole[name].is_symlink() or not whole[name].is_file(), f"the {kind} was replaced"


@pytest.mark.parametrize("missing", ["t.ring", "t.readers"])
def test_half_a_topic_is_repaired_or_named_and_never_used(bus, whole, missing):
    whole[missing].unlink()
    try:
        with bus.publisher("t") as pub, bus.subscriber("t") as sub:
            pub.send(b"m")
            assert sub.recv(timeout=60).body == b"m"
    except slipring.SlipringError:
        assert bus.doctor() != []
        bus.doctor(repair=True)
        bus.publisher("t").close()
    assert bus.doctor() == []


def test_remove_takes_away_a_damaged_topic_and_a_new_one_works(bus, whole):
    whole["t.ring"].write_bytes(b"damaged")
    bus.remove("t")
    assert not any(path.exists() for path in whole.values())
    with bus.publisher("t") as pub:
        assert pub.send(b"m") == 0


def test_doctor_repairs_around_foreign_files_without_deleting_what_is_not_its_own(bus, bus_root, whole):
    letter = bus_root / "test" / "letter.txt"
    letter.write_text("not yours")
    folder = bus_root / "test" / "folder"
    folder.mkdir()
    bus.doctor(repair=True)
    assert letter.read_text() == "not yours"
    assert folder.is_dir()
    assert bus.topics() == ["t"]


def test_damaged_topic_does_not_disturb_its_neighbours(bus, whole):
    with bus.publisher("neighbour") as pub, bus.subscriber("neighbour") as sub:
        whole["t.ring"].write_bytes(b"damaged")
        with pytest.raises(slipring.SlipringError):
            bus.publisher("t")
        pub.send(b"well")
        assert sub.recv(timeout=60).body == b"well"
        assert "neighbour" in bus.topics()
        bus.doctor(repair=True)
        pub.send(b"still well")
        assert sub.recv(timeout=60).body == b"still well"


@pytest.mark.foreign_files
@pytest.mark.parametrize("suffix", ["ring", "readers", "frames", "frames-new"])
def test_somebody_elses_file_with_a_topics_ending_is_neither_cleared_nor_written_over(bus, suffix):
    bus.publisher("other").close()
    notes = Path(bus.path, f"notes.{suffix}")
    notes.write_text("my notes\n")
    bus.doctor(repair=True)
    for attach in (bus.publisher, bus.create):
        with pytest.raises(slipring.SlipringError):
            attach("notes")
    assert notes.read_text() == "my notes\n"
    assert [path.name for path in Path(bus.path).glob("notes.*")] == [notes.name]
