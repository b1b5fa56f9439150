# SPDX-License-Identifier: Apache-2.0
"""Bodies in sequence in a byte stream.

Lines and zero-terminated records carry bodies that do not contain the separator; the last separator may be missing.
Length-prefixed records carry any bytes.  Raw output puts nothing between bodies; raw input is one body.
"""

from __future__ import annotations

import enum
import io
import struct
from collections.abc import Iterable, Iterator

import click

_LENGTH = struct.Struct(">I")
_CHUNK = 1 << 16


class Framing(enum.Enum):
    LINES = "lines"
    NULL = "null"
    LENGTH = "length-prefixed"
    RAW = "raw"


_SEPARATORS = {Framing.LINES: b"\n", Framing.NULL: b"\0", Framing.RAW: b""}


def join(bodies: Iterable[bytes], framing: Framing) -> bytes:
    """Return the bytes that carry ``bodies``."""
    if framing is Framing.LENGTH:
        return b"".join(part for body in bodies for part in (_LENGTH.pack(len(body)), body))
    separator = _SEPARATORS[framing]
    return b"".join(part for body in bodies for part in (body, separator))


def split(source: io.BufferedReader, framing: Framing, limit: int) -> Iterator[bytes]:
    """Yield the bodies in ``source`` as they arrive; a body longer than ``limit`` is refused before its end is read."""
    if framing is Framing.LENGTH:
        return _length_prefixed(source, limit)
    if framing is Framing.RAW:
        return _whole(source, limit)
    return _separated(source, _SEPARATORS[framing], limit)


def _separated(source: io.BufferedReader, separator: bytes, limit: int) -> Iterator[bytes]:
    pending = bytearray()
    while chunk := source.read1(_CHUNK):
        *ends, rest = chunk.split(separator)
        for end in ends:
            pending += end
            _check(len(pending), limit)
            yield bytes(pending)
            pending.clear()
        pending += rest
        _check(len(pending), limit)
    if pending:
        yield bytes(pending)


def _length_prefixed(source: io.BufferedReader, limit: int) -> Iterator[bytes]:
    while prefix := source.read(_LENGTH.size):
        if len(prefix) < _LENGTH.size:
            raise click.ClickException(
                f"stdin ends inside a length prefix ({len(prefix)} of {_LENGTH.size} bytes)"
            )
        (length,) = _LENGTH.unpack(prefix)
        _check(length, limit)
        body = source.read(length)
        if len(body) < length:
            raise click.ClickException(f"stdin ends inside a body ({len(body)} of {length} bytes)")
        yield body


def _whole(source: io.BufferedReader, limit: int) -> Iterator[bytes]:
    body = bytearray()
    while chunk := source.read1(_CHUNK):
        body += chunk
        _check(len(body), limit)
    yield bytes(body)


def _check(length: int, limit: int) -> None:
    if length > limit:
        raise click.ClickException(
            f"a body on stdin has {length} bytes or more and the topic holds {limit}: "
            "make it with a larger --capacity, or check how the bodies are separated"
        )
