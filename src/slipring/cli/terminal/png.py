# SPDX-License-Identifier: Apache-2.0
"""An array as a PNG file: grey, RGB or RGBA, 8 or 16 bits."""

from __future__ import annotations

import struct
import zlib
from typing import Any

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}  # by channels: grey, grey with alpha, RGB, RGBA


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def encode(array: Any) -> bytes:
    """Return the file; raise ValueError if a PNG cannot hold the array."""
    channels = 1 if array.ndim == 2 else array.shape[2] if array.ndim == 3 else 0
    bits = {"|u1": 8, "<u2": 16, ">u2": 16}.get(array.dtype.str)
    if bits is None or channels not in _COLOURS:
        raise ValueError(
            f"a PNG holds grey, RGB or RGBA of dtype u1 or u2, not shape {array.shape} of {array.dtype}"
        )
    height, width = array.shape[:2]
    rows = array.astype(">u2" if bits == 16 else "u1", copy=False).reshape(height, -1)
    packer = zlib.compressobj(6)
    parts = []
    for row in rows:
        parts.append(packer.compress(b"\0" + row.tobytes()))  # 0: the row without a filter
    parts.append(packer.flush())
    header = struct.pack(">IIBBBBB", width, height, bits, _COLOURS[channels], 0, 0, 0)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", b"".join(parts)) + _chunk(b"IEND", b"")
