# SPDX-License-Identifier: Apache-2.0
"""FlatBuffers tables read and written, with a check of each offset: the bytes may come from any program.

The format lets tables share parts, so that a small body can be read as a huge tree. `Buffer.spend` counts what is read;
a body may not have more items than bytes. Strings that are shared count once.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct as Layout
from typing import Any, Final

SCALARS: Final = {
    name: Layout(f"<{code}")
    for name, code in {
        "bool": "B", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q",
        "uint64": "Q", "float32": "f", "float64": "d",
    }.items()
}  # fmt: skip
_U16, _I32, _U32 = SCALARS["uint16"], SCALARS["int32"], SCALARS["uint32"]


class Malformed(ValueError):
    """An offset or a length leads out of the bytes, or the bytes are read more often than there are."""


class Buffer:
    """The bytes of one message or one .bfbs."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._left = len(data)
        self._texts: dict[int, str] = {}

    def spend(self, items: int) -> None:
        self._left -= items
        if self._left < 0:
            raise Malformed(
                f"parts are shared so often that there are more items than the {len(self._data)} bytes"
            )

    def scalar(self, layout: Layout, at: int) -> Any:
        # defect flatbuffers_offset_unchecked: pass
        if at < 0 or at + layout.size > len(self._data):
            raise Malformed(f"offset {at} leads out of the {len(self._data)} bytes")
        return layout.unpack_from(self._data, at)[0]

    def scalars(self, layout: Layout, at: int, count: int) -> list[Any]:
        if at < 0 or at + count * layout.size > len(self._data):
            raise Malformed(f"{count} items at {at} lead out of the {len(self._data)} bytes")
        self.spend(count)
        return [item for (item,) in layout.iter_unpack(self._data[at : at + count * layout.size])]

    def raw(self, at: int, count: int) -> bytes:
        if at < 0 or at + count > len(self._data):
            raise Malformed(f"{count} bytes at {at} lead out of the {len(self._data)} bytes")
        return self._data[at : at + count]

    def target(self, at: int) -> int:
        """Return where the offset at this place leads."""
        offset: int = self.scalar(_U32, at)
        if offset == 0:
            raise Malformed(f"the offset at {at} leads to itself")
        return at + offset

    def vector(self, at: int, size: int) -> tuple[int, int]:
        """Return the place and the number of the items of the vector that the offset at this place leads to."""
        start = self.target(at)
        count: int = self.scalar(_U32, start)
        if count * size > len(self._data) - start - 4:
            raise Malformed(f"a vector of {count} items at {start} leads out of the {len(self._data)} bytes")
        return start + 4, count

    def blob(self, at: int) -> bytes:
        start, count = self.vector(at, 1)
        self.spend(count)
        return self.raw(start, count)

    def text(self, at: int) -> str:
        start = self.target(at)
        known = self._texts.get(start)  # other writers write equal strings once
        if known is not None:
            self.spend(1)
            return known
        try:
            return self._texts.setdefault(start, self.blob(at).decode())
        except UnicodeDecodeError as error:
            raise Malformed(f"a string is not UTF-8: {error}") from None

    def table(self, at: int) -> Table:
        """Return the table that the offset at this place leads to."""
        return Table(self, self.target(at))

    def tables(self, at: int) -> Iterator[Table]:
        """Return the tables of the vector that the offset at this place leads to."""
        start, count = self.vector(at, 4)
        return (self.table(start + 4 * item) for item in range(count))


class Table:
    """One table: fields by their number."""

    def __init__(self, buffer: Buffer, at: int) -> None:
        buffer.spend(1)
        self.buffer, self._at = buffer, at
        self._vtable = at - buffer.scalar(_I32, at)
        self._length = buffer.scalar(_U16, self._vtable)
        self._size = buffer.scalar(_U16, self._vtable + 2)
        if self._length < 4 or self._size < 4:
            raise Malformed(f"the table at {at} has no head")

    def place(self, number: int) -> int:
        """Return where the field is, or 0 if the table does not have it."""
        entry = 4 + 2 * number
        if entry + 2 > self._length:
            return 0
        offset: int = self.buffer.scalar(_U16, self._vtable + entry)
        if offset >= self._size:
            raise Malformed(f"field {number} of the table at {self._at} is behind its end")
        return self._at + offset if offset else 0

    def scalar(self, number: int, kind: str, default: Any = 0) -> Any:
        at = self.place(number)
        return self.buffer.scalar(SCALARS[kind], at) if at else default

    def text(self, number: int) -> str:
        at = self.place(number)
        if not at:
            raise Malformed(f"field {number} of the table at {self._at} is missing")
        return self.buffer.text(at)

    def tables(self, number: int) -> Iterator[Table]:
        at = self.place(number)
        return self.buffer.tables(at) if at else iter(())


def root(data: bytes) -> Table:
    buffer = Buffer(data)
    return Table(buffer, buffer.target(0))


class Writer:
    """Appends tables, vectors and texts. Offsets lead forward: each part is written after the one that has it."""

    def __init__(self, identifier: bytes) -> None:
        self.data = bytearray(4) + identifier

    def align(self, size: int, ahead: int = 0) -> int:
        """Append zeros until the place `ahead` bytes from the end is a multiple of the size. Return the end."""
        self.data += bytes(-(len(self.data) + ahead) % size)
        return len(self.data)

    def link(self, at: int) -> None:
        """Let the offset at this place lead to the end."""
        _U32.pack_into(self.data, at, len(self.data) - at)

    def blob(self, at: int, content: bytes, *, terminated: bool) -> None:
        self.align(4)
        self.link(at)
        self.data += _U32.pack(len(content)) + content + bytes(terminated)

    def vector(self, at: int, count: int, size: int, alignment: int) -> int:
        """Append a vector of zeros. Return the place of its first item."""
        self.align(4)
        self.align(max(alignment, 4), 4)
        self.link(at)
        self.data += _U32.pack(count)
        start = len(self.data)
        self.data += bytes(count * size)
        return start

    def table(self, at: int, sizes: list[tuple[int, int, int]], fields: int) -> dict[int, int]:
        """Append a table with these fields: number, size, alignment. Return the place of each field."""
        self.align(2)
        vtable = len(self.data)
        self.data += bytes(4 + 2 * fields)
        alignment = max([4, *(each[2] for each in sizes)])
        start = self.align(alignment)
        self.link(at)
        self.data += _I32.pack(start - vtable)
        places = {}
        for number, size, align in sorted(sizes, key=lambda each: -each[2]):
            places[number] = self.align(align)
            self.data += bytes(size)
            _U16.pack_into(self.data, vtable + 4 + 2 * number, places[number] - start)
        _U16.pack_into(self.data, vtable, 4 + 2 * fields)
        _U16.pack_into(self.data, vtable + 2, len(self.data) - start)
        return places
