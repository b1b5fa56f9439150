# SPDX-License-Identifier: Apache-2.0
"""A strict reader of FlatBuffers tables: nothing is believed before it was checked against the buffer.

Every offset, length and alignment is checked where it is followed, nothing is followed twice, and there are
no loops over what the buffer says: reading costs a bounded time whatever the bytes are.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

_U8: Final = Struct("<B")
_U16: Final = Struct("<H")
_I32: Final = Struct("<i")
_U32: Final = Struct("<I")
_I64: Final = Struct("<q")
_U64: Final = Struct("<Q")


class Malformed(Exception):
    """These bytes are no message."""


def _need(condition: bool, what: str) -> None:
    # defect envelope_unchecked: pass
    if not condition:
        raise Malformed(what)


class Table:
    """A table at `at` in `buffer`, whose vtable has been checked."""

    __slots__ = ("_at", "_buffer", "_fields", "_size", "_vtable")

    def __init__(self, buffer: bytes, at: int) -> None:
        end = len(buffer)
        _need(at % 4 == 0 and at + 4 <= end, "a table outside the message")
        vtable = at - _I32.unpack_from(buffer, at)[0]
        _need(vtable % 2 == 0 and vtable >= 0 and vtable + 4 <= end, "a vtable outside the message")
        vtable_size, size = _U16.unpack_from(buffer, vtable)[0], _U16.unpack_from(buffer, vtable + 2)[0]
        _need(vtable_size >= 4 and vtable_size % 2 == 0 and vtable + vtable_size <= end, "a bad vtable")
        _need(size >= 4 and at + size <= end, "a table that ends outside the message")
        self._buffer, self._at, self._size = buffer, at, size
        self._vtable, self._fields = vtable, (vtable_size - 4) // 2

    @classmethod
    def root(cls, buffer: bytes, identifier: bytes) -> Table:
        _need(len(buffer) >= 12, "too short")
        _need(buffer[4:8] == identifier, "another kind of file")
        return cls(buffer, _U32.unpack_from(buffer, 0)[0])

    def _field(self, number: int, width: int) -> int:
        """Where a field is, 0 if it is absent."""
        if number >= self._fields:
            return 0
        offset: int = _U16.unpack_from(self._buffer, self._vtable + 4 + 2 * number)[0]
        if offset == 0:
            return 0
        _need(offset >= 4 and offset + width <= self._size, "a field outside its table")
        place = self._at + offset
        _need(place % width == 0, "a field that is not aligned")
        return place

    def _scalar(self, number: int, form: Struct) -> int:
        place = self._field(number, form.size)
        return int(form.unpack_from(self._buffer, place)[0]) if place else 0

    def u8(self, number: int) -> int:
        return self._scalar(number, _U8)

    def u32(self, number: int) -> int:
        return self._scalar(number, _U32)

    def i64(self, number: int) -> int:
        return self._scalar(number, _I64)

    def u64(self, number: int) -> int:
        return self._scalar(number, _U64)

    def _target(self, number: int) -> int:
        """What an offset field points to, 0 if it is absent."""
        place = self._field(number, 4)
        if not place:
            return 0
        target: int = place + _U32.unpack_from(self._buffer, place)[0]
        _need(target > place and target % 4 == 0 and target + 4 <= len(self._buffer), "an offset to nowhere")
        return target

    def table(self, number: int) -> Table:
        target = self._target(number)
        _need(target != 0, "a required table is missing")
        return Table(self._buffer, target)

    def _extent(self, target: int, width: int) -> tuple[int, int]:
        first = target + 4
        count = _U32.unpack_from(self._buffer, target)[0]
        _need(first % width == 0, "a vector that is not aligned")
        # defect call_vector_end_unchecked: pass
        _need(first + count * width <= len(self._buffer), "a vector that ends outside the message")
        return first, first + count * width

    def octets(self, number: int) -> memoryview:
        target = self._target(number)
        _need(target != 0, "a required vector is missing")
        first, end = self._extent(target, 1)
        return memoryview(self._buffer)[first:end]

    def text(self, number: int, *, required: bool = False, limit: int = 65535) -> str:
        target = self._target(number)
        _need(target != 0 or not required, "a required text is missing")
        if not target:
            return ""
        first, end = self._extent(target, 1)
        _need(end - first <= limit, "a text that is too long")
        _need(end < len(self._buffer) and self._buffer[end] == 0, "a text without its final zero")
        try:
            return self._buffer[first:end].decode()
        except UnicodeDecodeError:
            raise Malformed("a text that is not UTF-8") from None

    def u64s(self, number: int, limit: int) -> tuple[int, ...]:
        target = self._target(number)
        if not target:
            return ()
        first, end = self._extent(target, 8)
        count = (end - first) // 8
        _need(count <= limit, "a list that is too long")
        return Struct(f"<{count}Q").unpack_from(self._buffer, first)
