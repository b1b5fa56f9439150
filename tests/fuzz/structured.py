# SPDX-License-Identifier: Apache-2.0
"""Mutations that keep most of the structure of a body or a schema, so that readers get far before they refuse it.

twisted      a tree of dicts, lists and values with some of them replaced, for msgpack, JSON and documents of schemas
of_bytes     words, cuts, and tokens of a format
of_fields    fields of a Protobuf message, with correct lengths
of_offsets   offsets, lengths and words at their alignment, for FlatBuffers and Arrow
"""

import datetime
import random
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from fuzz.mutation import EXTREMES, mutated

JUNK = [
    None, True, False, 0, 1, -1, 127, 128, -129, 255, 256, 65536, 2**31, -(2**31) - 1, 2**53 + 1, 2**63, 2**64 - 1,
    -(2**63), 0.0, -0.0, 1.5, 65520.0, 3.5e38, 1e308, 5e-324, "", "\0", "a\0", "ü" * 5, "NaN", "Infinity", "1e5",
    "1e-400", "-0.00", "123456789.01", "99999999999999999999999999999999999999", "2026-02-30", "0001-01-01",
    "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "P99999999999D",
    "-PT0.000001S",
    "00000000-0000-0000-0000-000000000000", "AP8=", "====", [], {}, [[]], {"": None}, [None] * 5, [0.5] * 3,
]  # fmt: skip
MSGPACK_JUNK = [
    *JUNK, float("nan"), float("inf"), b"", b"\0", b"abcd", b"x" * 40,
    datetime.datetime(1, 1, 1, tzinfo=datetime.UTC), datetime.datetime(9999, 12, 31, 23, tzinfo=datetime.UTC),
]  # fmt: skip
MSGPACK_TOKENS = [
    b"\xc0", b"\xc1", b"\x80", b"\x90", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff", b"\xd4\x01\x00", b"\xd6\xff\xff\xff\xff\xff", b"\xc7\x0c\xff" + b"\xff" * 12,
    b"\xd7\xff" + b"\xff" * 8, b"\xcb\x7f\xf8\0\0\0\0\0\0", b"\xcf" + b"\xff" * 8, b"\xd3\x80" + bytes(7),
    b"\xca\x7f\x80\0\0", b"\x91" * 40, b"\xa1\xff",
]  # fmt: skip
JSON_TOKENS = [
    b"[", b"]", b"{", b"}", b",", b":", b'"', b"\\", b"\\ud800", b"\\u0000", b"null", b"true", b"NaN", b"1e999", b"-",
    b"9" * 25, b"0.", b"\xff", b"[" * 40, b" ", b'"":1,', b"1e-7", b".5",
]  # fmt: skip


def picked(dice: random.Random, items: Any) -> Any:
    """Return one of the items. It takes a third of the time of dice.choice."""
    return items[int(dice.random() * len(items))]


def twisted(dice: random.Random, tree: Any, junk: list[Any] = JUNK) -> Any:
    """Return the tree with one value replaced, left out, doubled, moved or a little larger."""
    if isinstance(tree, dict) and tree and dice.random() < 0.95:
        key = picked(dice, list(tree))
        chance = dice.random()
        if chance < 0.06:
            return {name: value for name, value in tree.items() if name != key}
        if chance < 0.09:
            return {**tree, picked(dice, list(tree)): tree[key]}
        if chance < 0.12:
            return {
                **tree,
                picked(dice, ("", "extra", key + "_", key.upper())) if type(key) is str else 0: tree[key],
            }
        return {**tree, key: twisted(dice, tree[key], junk)}
    if isinstance(tree, list) and tree and dice.random() < 0.9:
        at = int(dice.random() * len(tree))
        chance = dice.random()
        if chance < 0.08:
            return [*tree[:at], *tree[at + 1 :]]
        if chance < 0.16:
            return [*tree[:at], tree[at], *tree[at:]]
        return [*tree[:at], twisted(dice, tree[at], junk), *tree[at + 1 :]]
    if type(tree) is int and dice.random() < 0.4:
        return tree + picked(dice, (-2, -1, 1, 2, 256, -256))
    if type(tree) is str and tree and dice.random() < 0.5:
        at = int(dice.random() * len(tree))
        return (
            tree[:at] + picked(dice, ("", "0", "9", "-", ".", "z", "\0", "é", "[", " ", "A")) + tree[at + 1 :]
        )
    return picked(dice, junk)


def of_bytes(tokens: list[bytes]) -> Callable[[random.Random, bytes], bytes]:
    """Return a mutation of bytes: a token put in, or what `mutated` does."""

    def mutate(dice: random.Random, data: bytes) -> bytes:
        if dice.random() < 0.5:
            return mutated(dice, data)
        at = int(dice.random() * (len(data) + 1))
        return data[:at] + picked(dice, tokens) + data[at + int(dice.random() * 4) :]

    return mutate


def of_tree(
    load: Callable[[bytes], Any], dump: Callable[[Any], bytes], junk: list[Any], tokens: list[bytes]
) -> Callable[[random.Random, bytes], bytes]:
    """Return a mutation of a format of trees: values in two of three inputs, bytes in the others."""
    tree = lru_cache(1000)(load)
    plain = of_bytes(tokens)

    def mutate(dice: random.Random, data: bytes) -> bytes:
        if dice.random() < 0.33:
            return plain(dice, data)
        try:
            found = tree(data)
            for _ in range(1 if dice.random() < 0.6 else 3):
                found = twisted(dice, found, junk)
            return dump(found)
        except (ValueError, TypeError, RecursionError, OverflowError):
            return plain(dice, data)

    return mutate


def varint(number: int) -> bytes:
    found = bytearray()
    number &= (1 << 64) - 1
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return number, at


@lru_cache(1000)
def fields_of(data: bytes) -> list[tuple[int, bytes]]:
    """Return the tag and the content of each field; IndexError or ValueError if the bytes are not fields."""
    found, at = [], 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        begin = at
        match tag & 7:
            case 0:
                _, at = _read_varint(data, at)
            case 1:
                at += 8
            case 2:
                size, begin = _read_varint(data, at)
                at = begin + size
            case 5:
                at += 4
            case _:
                raise ValueError
        if at > len(data):
            raise ValueError
        found.append((tag, data[begin:at]))
    return found


def from_fields(fields: list[tuple[int, bytes]]) -> bytes:
    return b"".join(
        [varint(tag) + (varint(len(content)) if tag & 7 == 2 else b"") + content for tag, content in fields]
    )


def of_fields(dice: random.Random, data: bytes) -> bytes:
    """Change fields of a Protobuf message, also of messages inside it; the lengths stay correct."""
    if dice.random() < 0.2:
        return mutated(dice, data)
    try:
        fields = list(fields_of(data))
    except (IndexError, ValueError):
        return mutated(dice, data)
    if not fields:
        return from_fields([_made(dice)])
    at = int(dice.random() * len(fields))
    tag, content = fields[at]
    chance = dice.random()
    if chance < 0.1:
        del fields[at]
    elif chance < 0.2:
        fields.insert(int(dice.random() * len(fields)), fields[at])
    elif chance < 0.35:
        fields.insert(at, _made(dice))
    elif chance < 0.45:
        fields[at] = (tag ^ picked(dice, (1, 2, 3, 5, 8, 16, 64)), content)
    elif tag & 7 == 2 and content:
        fields[at] = (tag, of_fields(dice, content))
    elif tag & 7 == 0:
        fields[at] = (tag, varint(picked(dice, EXTREMES)))
    else:
        fields[at] = (tag, mutated(dice, content)[: len(content)].ljust(len(content), b"\0"))
    return from_fields(fields)


def _made(dice: random.Random) -> tuple[int, bytes]:
    number, kind = 1 + int(dice.random() * 18), picked(dice, (0, 1, 2, 2, 5))
    if kind == 0:
        return number << 3, varint(picked(dice, EXTREMES))
    size = {1: 8, 5: 4}.get(kind) or picked(dice, (0, 1, 2, 5))
    return number << 3 | kind, dice.randbytes(size)


def of_offsets(dice: random.Random, data: bytes) -> bytes:
    """Change aligned words: extreme and near values, other parts of the same buffer, offsets to other places."""
    if dice.random() < 0.25 or len(data) < 16:
        return mutated(dice, data)
    out = bytearray(data)
    for _ in range(1 if dice.random() < 0.7 else 3):
        width = picked(dice, (1, 2, 4, 4, 8))
        at = int(dice.random() * (len(out) // width)) * width
        chance = dice.random()
        if chance < 0.3:
            number = picked(dice, EXTREMES)
        elif chance < 0.6:
            number = int.from_bytes(out[at : at + width], "little") + picked(
                dice, (-8, -4, -2, -1, 1, 2, 4, 8)
            )
        elif chance < 0.8:
            number = int(dice.random() * len(out)) // 2 * 2 - at
        else:
            other = int(dice.random() * (len(out) // width)) * width
            number = int.from_bytes(out[other : other + width], "little")
        out[at : at + width] = (number & (1 << 8 * width) - 1).to_bytes(width, "little")
    return bytes(out)
