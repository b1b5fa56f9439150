# SPDX-License-Identifier: Apache-2.0
"""Message bodies that give themselves away when torn, changed, made up or never committed.

    0  crc32 of the payload followed by bytes 8 to 24
    8  identity: incarnation of the sender << 32 | its counter; POISON is set in loans that will be aborted
   16  sent_ns: CLOCK_MONOTONIC just before the commit, one clock for all processes of the host
   24  payload
The header comes last into the checksum, so that a loan is stamped after it has been filled.
"""

import struct
import time
import zlib

HEADER_BYTES = 24
POISON = 1 << 63
_HEADER = struct.Struct("<I4xQQ")
_STAMP = struct.Struct("<QQ")


def identity(incarnation: int, counter: int) -> int:
    return incarnation << 32 | counter


def sender_of(identity: int) -> tuple[int, int]:
    """(incarnation, counter)"""
    return (identity & ~POISON) >> 32, identity & 0xFFFFFFFF


def stamp(body: bytearray | memoryview, identity: int) -> None:
    """Complete a body whose payload is in place."""
    sent_ns = time.monotonic_ns()
    crc = zlib.crc32(_STAMP.pack(identity, sent_ns), zlib.crc32(body[HEADER_BYTES:]))
    _HEADER.pack_into(body, 0, crc, identity, sent_ns)


def make(identity: int, payload: bytes) -> bytearray:
    body = bytearray(HEADER_BYTES + len(payload))
    body[HEADER_BYTES:] = payload
    stamp(body, identity)
    return body


def open_body(body: bytes | memoryview) -> tuple[int, int] | None:
    """(identity, sent_ns), or None if it is not as it was sent."""
    if len(body) < HEADER_BYTES:
        return None
    crc, identity, sent_ns = _HEADER.unpack_from(body)
    if crc != zlib.crc32(body[8:HEADER_BYTES], zlib.crc32(body[HEADER_BYTES:])):
        return None
    return identity, sent_ns
