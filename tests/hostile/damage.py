# SPDX-License-Identifier: Apache-2.0
"""Random writes into the two files of a topic, as a list so that a failing one can be repeated."""

import os
import random
import struct
from dataclasses import dataclass
from pathlib import Path

WORD = struct.Struct("<Q")
ALL = 2**64 - 1
METADATA = 16 << 10  # half of the writes go this near to the beginning, where the words are that steer
EXTREMES = (
    0,
    1,
    ALL,
    ALL - 1,
    1 << 63,
    (1 << 63) - 1,
    1 << 32,
    (1 << 32) - 1,
    1 << 31,
    0xFFFF,
    4096,
    1 << 40,
)
TWISTS = {
    "zero": lambda word: 0,
    "all ones": lambda word: ALL,
    "largest signed": lambda word: (1 << 63) - 1,
    "smallest signed": lambda word: 1 << 63,
    "one more": lambda word: word + 1,
    "one less": lambda word: word - 1,
    "low half inverted": lambda word: word ^ 0xFFFFFFFF,
    "high half inverted": lambda word: word ^ (0xFFFFFFFF << 32),
    "low half all ones": lambda word: word | 0xFFFFFFFF,
    "low quarter all ones": lambda word: word | 0xFFFF,
    "doubled": lambda word: word * 2,
    "an epoch later": lambda word: word + (1 << 32),
}


@dataclass(frozen=True)
class Write:
    path: Path
    offset: int
    data: bytes

    def make(self) -> None:
        fd = os.open(self.path, os.O_WRONLY)
        try:
            os.pwrite(fd, self.data, self.offset)
        finally:
            os.close(fd)

    def __str__(self) -> str:
        shown = (
            self.data.hex() if len(self.data) <= 16 else f"{self.data[:8].hex()}… ({len(self.data)} bytes)"
        )
        return f"{self.path.suffix} at {self.offset}: {shown}"


def random_write(dice: random.Random, paths: list[Path]) -> Write:
    path = dice.choice(paths)
    before = path.read_bytes()
    limit = len(before) if dice.random() < 0.5 else min(METADATA, len(before))
    offset = dice.randrange(limit)
    data = dice.choice(_KINDS)(dice, before, offset)
    if len(data) == WORD.size:
        offset -= offset % WORD.size
    return Write(path, offset, data[: len(before) - offset])


def _extreme_word(dice, before: bytes, offset: int) -> bytes:
    return WORD.pack(dice.choice(EXTREMES))


def _twisted_word(dice, before: bytes, offset: int) -> bytes:
    return twist(before, offset - offset % WORD.size, dice.choice(list(TWISTS)))


def _one_bit(dice, before: bytes, offset: int) -> bytes:
    return bytes([before[offset] ^ (1 << dice.randrange(8))])


def _noise(dice, before: bytes, offset: int) -> bytes:
    return dice.randbytes(dice.choice((1, 3, 16, 64, 512, 4096)))


def _zeros(dice, before: bytes, offset: int) -> bytes:
    return bytes(dice.choice((16, 64, 4096)))


def _other_part(dice, before: bytes, offset: int) -> bytes:
    """Believable contents in the wrong place."""
    begin = dice.randrange(len(before)) & ~7
    return before[begin : begin + dice.choice((16, 64, 128, 4096))]


_KINDS = [_extreme_word, _twisted_word, _twisted_word, _one_bit, _noise, _zeros, _other_part]


def twist(before: bytes, offset: int, name: str) -> bytes:
    return WORD.pack(TWISTS[name](WORD.unpack_from(before, offset)[0]) & ALL)
