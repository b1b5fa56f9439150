# SPDX-License-Identifier: Apache-2.0
"""Bodies that tell their maker (incarnation), their number (counter), and whether they are whole (checksum).

A poisoned body is whole too but says it was never committed: loans are filled with it first, and aborted
loans keep it, so that a message seen before its commit is told from a torn one.
"""

import random
import struct
import zlib

HEAD = struct.Struct("<QQII")  # incarnation, counter, length of the whole, checksum
SMALLEST = HEAD.size
POISON = 1 << 63
TORN = 2**64 - 1  # incarnation reported for a body that is not whole
CHANGED = 2**64 - 2  # … for a held body that changed
_NOISE = random.Random(1).randbytes(1 << 16)


def make(incarnation: int, counter: int, size: int) -> bytes:
    size = max(size, SMALLEST)
    begin = (incarnation * 8191 + counter * 127) % 4096
    filling = _NOISE[begin : begin + size - SMALLEST]
    return HEAD.pack(incarnation, counter, size, _checksum(incarnation, counter, size, filling)) + filling


def read(body) -> tuple[int, int]:
    """Incarnation and counter; the incarnation is TORN when the body is not as it was made."""
    if len(body) < SMALLEST:
        return TORN, 0
    incarnation, counter, size, checksum = HEAD.unpack_from(body)
    if size != len(body) or checksum != _checksum(incarnation, counter, size, body[SMALLEST:]):
        return TORN, counter
    return incarnation, counter


def _checksum(incarnation: int, counter: int, size: int, filling) -> int:
    return zlib.crc32(filling, zlib.crc32(HEAD.pack(incarnation, counter, size, 0)))
