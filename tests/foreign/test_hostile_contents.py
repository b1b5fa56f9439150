# SPDX-License-Identifier: Apache-2.0
"""Damaged topics end the foreign programs with a reason, never with a signal or an endless loop."""

import contextlib
import os
import random
from pathlib import Path

import pytest

import slipring
from foreign.peers import ABSENT, BUSY, CORRUPT, FULL, GONE, USAGE
from hostile.damage import TWISTS, Write, random_write, twist
from layout import document

SEED = int(os.environ.get("SLIPRING_FOREIGN_SEED", "0")) or random.randrange(1, 1 << 30)
HEADER = {field.name: field for field in document.read().structures["ring_header"]}
DAMAGES, A_MOMENT_S = 30, 0.002  # gives the program time to read the damage; no assertion depends on it
MORE = int(os.environ.get("SLIPRING_FOREIGN_MORE", "1"))
TRIALS = {"c": 60, "java": 12}


def files(bus) -> list[Path]:
    return [Path(bus.path, "t.ring"), Path(bus.path, "t.readers")]


def make_it_gone(bus) -> None:
    """Mark the topic as removed, as every program checks, and remove its files."""
    ring, readers = files(bus)
    Write(ring, HEADER["removed"].offset, b"\1").make()
    ring.unlink()
    readers.unlink()


def a_steering_word(dice: random.Random, bus) -> Write:
    """Return an extreme value for a word that programs depend on, at an offset of the topic made below."""
    ring, readers = files(bus)
    limits = [HEADER[name].offset for name in ("tail", "oldest", "freed")]
    writers, slots_and_arrays = range(4096, 4608, 8), range(8192, 8960, 8)
    places = [(ring, limits), (ring, writers), (ring, slots_and_arrays), (readers, range(4096, 4608, 8))]
    path, offsets = dice.choice(places)
    offset = dice.choice(offsets)
    return Write(path, offset, twist(path.read_bytes(), offset, dice.choice(list(TWISTS))))


def damage_until_it_ends(bus, peers, language: str, dice: random.Random) -> int:
    delivery = dice.choice(["lossy", "reliable"])
    bus.create("t", capacity=4096, slots=16, delivery=delivery, max_writers=4, max_readers=4, max_cursors=1)
    if dice.random() < 0.5:
        peer = peers.publish(language, "s", 10**9, every=10**9)
        peer.expect("ready")
        peer.say("go")
    else:
        peer = peers.subscribe(language, "lossy")
        peer.hear()
    story = []
    with contextlib.suppress(slipring.SlipringError), bus.publisher("t") as pub:
        while len(story) < DAMAGES and not peer.ended_within(A_MOMENT_S):
            story.append(
                a_steering_word(dice, bus) if dice.random() < 0.7 else random_write(dice, files(bus))
            )
            story[-1].make()
            pub.send(bytes(len(story)), timeout=0)
    while len(story) < DAMAGES and not peer.ended_within(A_MOMENT_S):
        story.append(a_steering_word(dice, bus))
        story[-1].make()
    make_it_gone(bus)
    code = peer.join(None)
    told = f"seed {SEED}: {code} after {[str(write) for write in story]}\n{peer.stderr}"
    assert code in (CORRUPT, BUSY, GONE, FULL), told
    peer.discard()
    return code


@pytest.mark.parametrize("language", TRIALS)
def test_random_writes_into_a_live_topic_end_a_foreign_program_by_name_only(bus, peers, language):
    dice = random.Random(SEED)
    codes = [damage_until_it_ends(bus, peers, language, dice) for _ in range(TRIALS[language] * MORE)]
    assert codes.count(CORRUPT) > 0, f"seed {SEED}: no damage was ever seen"


@pytest.mark.parametrize("language", TRIALS)
@pytest.mark.parametrize(
    "field", ["magic", "version", "layout_hash", "generation", "slot_count", "capacity", "boot_id"]
)
def test_a_foreign_program_refuses_a_header_that_is_wrong_and_does_not_touch_it(bus, peers, language, field):
    bus.create("t", capacity=4096, slots=16)
    ring = files(bus)[0]
    original = ring.read_bytes()
    Write(ring, HEADER[field].offset, bytes([original[HEADER[field].offset] ^ 0xFF])).make()
    before = [path.read_bytes() for path in files(bus)]
    peers.publish(language, "s", 1).join(CORRUPT)
    peers.subscribe(language, "lossy").join(CORRUPT)
    assert [path.read_bytes() for path in files(bus)] == before
    Write(ring, 0, original).make()


@pytest.mark.parametrize("language", TRIALS)
def test_a_foreign_publisher_refuses_a_topic_of_frames(bus, peers, language):
    bus.create("t", capacity=4096, slots=16)
    ring = files(bus)[0]
    original = ring.read_bytes()
    Write(ring, HEADER["content"].offset, b"\1").make()
    peers.publish(language, "s", 1).join(USAGE)
    Write(ring, 0, original).make()


@pytest.mark.parametrize("language", TRIALS)
def test_a_missing_topic_is_reported(bus, peers, language):
    bus.create("other")
    peers.publish(language, "s", 1).join(ABSENT)
