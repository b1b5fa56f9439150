# SPDX-License-Identifier: Apache-2.0
"""Message bodies with a checksum, the identity of their sender and a mark for uncommitted ones.

24 bytes and more   0 checksum of the payload followed by bytes 8 to 24 | 8 identity | 16 sent_ns | 24 payload
 8 to 23 bytes      0 checksum of the payload, begun with life ^ counter | 4 counter | 8 payload
 0 to 7 bytes       bytes that depend on the sender alone; the counter is ANONYMOUS

An identity is the number of the sending process << 32 | its counter. A loan is filled with a body whose identity has
the bit POISON first, and an aborted loan keeps it: so a message read before its commit differs from a torn one. The
checksum covers the header last, so that a loan can be completed after it has been filled. storm/c/bodies.c has the
same format.
"""

import random
import struct
import time
import zlib

HEADER_BYTES = 24
POISON = 1 << 63
ANONYMOUS = 0xFFFFFFFF
TYPES = ("even", "odd")  # of the workers' messages, by their counters
_HEADER = struct.Struct("<I4xQQ")
_STAMP = struct.Struct("<QQ")
_SHORT = struct.Struct("<II")
_NOISE = random.Random(7).randbytes(8 << 20)


def identity(life: int, counter: int) -> int:
    return life << 32 | counter


def sender_of(who: int) -> tuple[int, int]:
    """Return (process number, counter)."""
    return (who & ~POISON) >> 32, who & 0xFFFFFFFF


def stamp(body: bytearray | memoryview, who: int) -> None:
    """Complete a body that has its payload."""
    sent_ns = time.monotonic_ns()
    crc = zlib.crc32(_STAMP.pack(who, sent_ns), zlib.crc32(body[HEADER_BYTES:]))
    _HEADER.pack_into(body, 0, crc, who, sent_ns)


def with_payload(who: int, payload: bytes) -> bytearray:
    body = bytearray(HEADER_BYTES + len(payload))
    body[HEADER_BYTES:] = payload
    stamp(body, who)
    return body


def open_body(body: bytes | memoryview) -> tuple[int, int] | None:
    """Return (identity, sent_ns), or None if the body was changed. For bodies of at least HEADER_BYTES."""
    if len(body) < HEADER_BYTES:
        return None
    crc, who, sent_ns = _HEADER.unpack_from(body)
    if crc != zlib.crc32(body[8:HEADER_BYTES], zlib.crc32(body[HEADER_BYTES:])):
        return None
    return who, sent_ns


def make(who: int, size: int) -> bytes | bytearray:
    """Return a body of any size with random contents."""
    begin = (who & ~POISON) * 2654435761 % (4 << 20)
    if size >= HEADER_BYTES:
        return with_payload(who, _NOISE[begin : begin + size - HEADER_BYTES])
    life, counter = sender_of(who)
    if size >= _SHORT.size:
        rest = _NOISE[begin : begin + size - _SHORT.size]
        return _SHORT.pack(zlib.crc32(rest, life ^ counter), counter) + rest
    return _tiny(life, size)


def _tiny(life: int, size: int) -> bytes:
    return (life * 0x9E3779B97F4A7C15 % 2**64).to_bytes(8, "little")[:size]


def check(sender: str, body: bytes | memoryview) -> tuple[int, int] | None:
    """Return (identity, sent_ns) of a body of sender i<number>, or None if that sender did not make it."""
    life = int(sender[1:])
    if len(body) >= HEADER_BYTES:
        found = open_body(body)
        return found if found and sender_of(found[0])[0] == life else None
    if len(body) >= _SHORT.size:
        checksum, counter = _SHORT.unpack_from(body)
        right = checksum == zlib.crc32(body[_SHORT.size :], life ^ counter)
        return (identity(life, counter), 0) if right else None
    return (identity(life, ANONYMOUS), 0) if bytes(body) == _tiny(life, len(body)) else None


def type_is_right(who: int, type: str) -> bool:
    counter = who & 0xFFFFFFFF
    return type in TYPES if counter == ANONYMOUS else type == TYPES[counter % 2]


def size(dice: random.Random, usual: int, largest: int, smallest: int = HEADER_BYTES) -> int:
    """Return a random size: mostly up to `usual`, some up to `largest`, few below HEADER_BYTES if allowed."""
    kind = dice.random()
    if smallest < HEADER_BYTES and kind < 0.06:
        return smallest
    if smallest < HEADER_BYTES and kind < 0.16:
        return dice.randrange(max(1, smallest), HEADER_BYTES)
    if kind > (0.99 if largest <= 1 << 16 else 0.9985):
        return round(usual * (largest / usual) ** dice.random())
    return round(HEADER_BYTES * (usual / HEADER_BYTES) ** dice.random())
