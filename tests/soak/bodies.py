# SPDX-License-Identifier: Apache-2.0
"""Bodies of 0 B to some MiB that tell whether they are whole.

24 bytes and more    as in demo.bodies: checksum, identity, time, filling
 8 to 23 bytes       checksum, counter, filling; the incarnation is that of the sender's name
 0 to 7 bytes        filling alone, which differs by sender; the counter is not told (ANONYMOUS)
An identity is incarnation << 32 | counter. A sender is named i<incarnation>.
"""

import random
import struct
import zlib

from demo.bodies import POISON, identity

from demo import bodies as whole

ANONYMOUS = 0xFFFFFFFF
_SHORT = struct.Struct("<II")  # checksum, counter
NOISE = random.Random(7).randbytes(8 << 20)
SMALLEST_WHOLE = whole.HEADER_BYTES

__all__ = ["ANONYMOUS", "NOISE", "POISON", "SMALLEST_WHOLE", "check", "identity", "make", "size"]


def size(dice: random.Random, largest: int, smallest: int = 0) -> int:
    """Mostly some hundred bytes; none, few, and large ones among them."""
    kind = dice.random()
    if kind < 0.06 and smallest == 0:
        return 0
    if kind < 0.16 and smallest == 0:
        return dice.randrange(1, SMALLEST_WHOLE)
    if kind > 0.9985:
        return round(4096 * (largest / 4096) ** dice.random())
    return round(SMALLEST_WHOLE * (4096 / SMALLEST_WHOLE) ** dice.random())


def make(who: int, size_bytes: int) -> bytes | bytearray:
    begin = (who & ~POISON) * 2654435761 % (4 << 20)
    if size_bytes >= SMALLEST_WHOLE:
        return whole.make(who, NOISE[begin : begin + size_bytes - SMALLEST_WHOLE])
    if size_bytes >= _SHORT.size:
        rest = NOISE[begin : begin + size_bytes - _SHORT.size]
        counter = who & 0xFFFFFFFF
        return _SHORT.pack(zlib.crc32(rest, who >> 32 ^ counter), counter) + rest
    return _tiny(who >> 32, size_bytes)


def _tiny(incarnation: int, size_bytes: int) -> bytes:
    begin = incarnation * 131 % 65536
    return NOISE[begin : begin + size_bytes]


def check(sender: str, body: bytes | memoryview) -> int | None:
    """The identity, or None if the body is not as it was sent by this sender."""
    incarnation = int(sender[1:])
    if len(body) >= SMALLEST_WHOLE:
        found = whole.open_body(body)
        return found[0] if found and whole.sender_of(found[0])[0] == incarnation else None
    if len(body) >= _SHORT.size:
        checksum, counter = _SHORT.unpack_from(body)
        right = checksum == zlib.crc32(body[_SHORT.size :], incarnation ^ counter)
        return identity(incarnation, counter) if right else None
    return identity(incarnation, ANONYMOUS) if bytes(body) == _tiny(incarnation, len(body)) else None
