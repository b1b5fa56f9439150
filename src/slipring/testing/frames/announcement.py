# SPDX-License-Identifier: Apache-2.0
"""The messages of a frames topic on a stepped bus, byte for byte those of shared memory: the table of their fields is
the core's own.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from slipring._bus.native import _native

if TYPE_CHECKING:
    from ..ring.ring import Ring
    from .pool import Pool

_LETTER = {4: "I", 8: "Q"}
_FIELDS = [row[1:] for row in _native.layout("frames")[1] if row[0] == "frame"]
_FRAME = struct.Struct("<" + "".join(_LETTER[size] for _, _, size in _FIELDS))
_ORDER = [name for name, _, _ in _FIELDS]


class Announcement(NamedTuple):
    pool: int
    number: int
    id: int
    start_ns: int
    end_ns: int
    buffer: int
    stream: int
    meta_size: int
    meta_kind: int
    run: int
    counts: tuple[int, ...] = ()  # how many frames each stream has had, this one included
    meta: bytes = b""

    def encode(self) -> bytes:
        fixed = _FRAME.pack(*(getattr(self, name) for name in _ORDER))
        return fixed + struct.pack(f"<{len(self.counts)}Q", *self.counts) + self.meta


def decode(body: bytes) -> Announcement:
    fixed = dict(zip(_ORDER, _FRAME.unpack_from(body), strict=True))
    end = len(body) - fixed["meta_size"]
    count = (end - _FRAME.size) // 8
    counts = struct.unpack_from(f"<{count}Q", body, _FRAME.size)
    return Announcement(**fixed, counts=counts, meta=body[end:])


def counts_before(pool: Pool, ring: Ring, seq: int) -> list[int]:
    """Return how many frames each stream had before the announcement seq: the one before it has the counts."""
    while seq > ring.oldest:
        seq -= 1
        entry = ring.entries[seq]
        if entry.state == "committed":
            newest = decode(entry.body)
            return list(newest.counts if newest.pool == pool.generation else pool.first_ids)
    return list(pool.first_ids)
