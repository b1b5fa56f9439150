# SPDX-License-Identifier: Apache-2.0
"""Messages of calls as bytes: FlatBuffers of docs/spec/call.fbs, written and read by hand for this one schema.

A FlatBuffer may place its parts in any order. Here every kind of message has one fixed form, of which only a
few numbers and the data at its end vary. Writing is one `struct.pack`. Reading compares the fixed bytes of the forms
that make up nearly all traffic; everything else goes to the strict reader, which takes any correct FlatBuffer of the
schema, from any program. Anything else raises Malformed. docs/spec/calls.md shows a message byte by byte.

    0   offset of the root table, "SLRC"
    8   vtable of Message: 10, 18, req_id at 8, payload_type at 16, payload at 4
    24  Message: offset to its vtable; 28 offset of the payload; 32 req_id; 40 payload_type
    42  vtable of the payload, and from an even offset on the payload's table
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from struct import Struct
from struct import pack as pack_now
from typing import Final

from . import protocol as m

IDENTIFIER = b"SLRC"
LONGEST_ERROR_TEXT = 4096  # bytes of an error's message, and of its type
LONGEST_TRACEBACK = 8192


def _front(payload_at: int) -> bytes:
    """Return the bytes before req_id."""
    return pack_now("<I4sHHHHH6xiI", 24, IDENTIFIER, 10, 18, 8, 16, 4, 16, payload_at - 28)


def _vtable(kind: int, table_at: int, size: int, *offsets: int) -> bytes:
    """Return payload_type, the payload's vtable, and the table's offset to it."""
    count = len(offsets)
    vtable = pack_now(f"<BxHH{count}H", kind, 4 + 2 * count, size, *offsets)
    return vtable + bytes(table_at - 40 - len(vtable)) + pack_now("<i", table_at - 42)


# Result and Part: the value's length at 56, the value at 60.
_VALUE = Struct("<32sQ16sI")
_VALUE_FRONT = _front(48)
_RESULT_MIDDLE = _vtable(m.RESULT, 48, 8, 4) + pack_now("<I", 4)
_PART_MIDDLE = _vtable(m.PART, 48, 8, 4) + pack_now("<I", 4)

# Chunk: total at 56, the data's length at 68, the data at 72.
_CHUNK = Struct("<32sQ16sQII")
_CHUNK_FRONT = _front(52)
_CHUNK_MIDDLE = _vtable(m.CHUNK, 52, 16, 4, 12)

# Call: server, deadline_ns, max_answer, window from 64 on; offsets of method, arguments and trail at 92, 96
# and 100; the method's length at 104, the method, a zero, padding to 4; the arguments' length, the arguments.
_CALL = Struct("<32sQ24sQqQIIII")
_CALL_FRONT = _front(60)
_CALL_MIDDLE = _vtable(m.CALL, 60, 44, 4, 12, 20, 28, 32, 36, 0)
_CALL_MIDDLE_WITH_TRAIL = _vtable(m.CALL, 60, 44, 4, 12, 20, 28, 32, 36, 40)
# defect call_method_misplaced: _METHOD_AT = 108
_METHOD_AT = 104

_CREDIT = Struct("<32sQ12sI")
_CREDIT_MIDDLE = _vtable(m.CREDIT, 48, 8, 4)
_BARE = Struct("<32sQ12s")
_CANCEL_MIDDLE = _vtable(m.CANCEL, 48, 4)
_END_MIDDLE = _vtable(m.END, 48, 4)
_HELLO = Struct("<32sQ24sQQII")
_HELLO_FRONT = _front(60)
_HELLO_MIDDLE = _vtable(m.HELLO, 60, 28, 20, 4, 12, 24)
_ERROR = Struct("<32sQ16sB3xII")
_ERROR_FRONT = _front(52)
_ERROR_MIDDLE = _vtable(m.ERROR, 52, 16, 4, 8, 12)
_TRACED = Struct("<32sQ20sB3xIII")
_TRACED_FRONT = _front(56)
_TRACED_MIDDLE = _vtable(m.ERROR, 56, 20, 4, 8, 12, 16)
_LENGTH = Struct("<I")


def _string(text: bytes) -> bytes:
    """Return length, text, a zero, padding to 4."""
    return b"%b%b%b" % (_LENGTH.pack(len(text)), text, bytes(4 - len(text) % 4))


@lru_cache(maxsize=1024)
def _method(name: str) -> bytes:
    return _string(name.encode())


def call(req_id: int, body: m.Call) -> bytes:
    server, deadline_ns, max_answer, window, name, arguments, trail = body
    method = _method(name)
    arguments_at = _METHOD_AT + len(method)
    middle, trail_at, tail = _CALL_MIDDLE, 100, b""
    if trail:
        end = arguments_at + 4 + len(arguments)
        padding = -(end + 4) % 8  # the length ends where 8-byte numbers may begin
        middle, trail_at = _CALL_MIDDLE_WITH_TRAIL, end + padding
        tail = pack_now(f"<{padding}xI{len(trail)}Q", len(trail), *trail)
    head = _CALL.pack(
        _CALL_FRONT, req_id, middle, server, deadline_ns, max_answer, window,
        _METHOD_AT - 92, arguments_at - 96, trail_at - 100,
    )  # fmt: skip
    return b"".join((head, method, _LENGTH.pack(len(arguments)), arguments, tail))


def result(req_id: int, value: bytes | memoryview) -> bytes:
    return b"".join((_VALUE.pack(_VALUE_FRONT, req_id, _RESULT_MIDDLE, len(value)), value))


def part(req_id: int, value: bytes | memoryview) -> bytes:
    return b"".join((_VALUE.pack(_VALUE_FRONT, req_id, _PART_MIDDLE, len(value)), value))


def chunk(req_id: int, total: int, data: bytes | memoryview) -> bytes:
    return b"".join((_CHUNK.pack(_CHUNK_FRONT, req_id, _CHUNK_MIDDLE, total, 4, len(data)), data))


def end(req_id: int) -> bytes:
    return _BARE.pack(_VALUE_FRONT, req_id, _END_MIDDLE)


def cancel(req_id: int) -> bytes:
    return _BARE.pack(_VALUE_FRONT, req_id, _CANCEL_MIDDLE)


def credit(req_id: int, count: int) -> bytes:
    return _CREDIT.pack(_VALUE_FRONT, req_id, _CREDIT_MIDDLE, count)


def hello(body: m.Hello) -> bytes:
    version, instance, incarnation, codec = body
    head = _HELLO.pack(_HELLO_FRONT, 0, _HELLO_MIDDLE, instance, incarnation, version, 4)
    return head + _string(codec.encode())


def _clipped(text: str) -> bytes:
    """Return a text as UTF-8, cut between characters; invalid characters are replaced."""
    encoded = text.encode("utf-8", "replace")
    return encoded[:LONGEST_ERROR_TEXT].decode("utf-8", "ignore").encode()


def _end_of(text: str) -> bytes:
    """Return the last part of a traceback, which names the exception."""
    encoded = text.encode("utf-8", "replace")
    return encoded[-LONGEST_TRACEBACK:].decode("utf-8", "ignore").encode()


def error(req_id: int, body: m.Error) -> bytes:
    kind, message = _string(_clipped(body.type)), _string(_clipped(body.message))
    if body.traceback:
        head = _TRACED.pack(
            _TRACED_FRONT, req_id, _TRACED_MIDDLE, body.reason,
            76 - 64, 76 + len(kind) - 68, 76 + len(kind) + len(message) - 72,
        )  # fmt: skip
        return head + kind + message + _string(_end_of(body.traceback))
    head = _ERROR.pack(
        _ERROR_FRONT, req_id, _ERROR_MIDDLE, body.reason, 68 - 60, 68 + len(kind) - 64
    )  # fmt: skip
    return head + kind + message


# Reading

LONGEST_TRAIL = 64  # entries that are read; servers refuse calls nested deeper than their own limit
_KIND_AT = 40
_SMALL = 4096  # bytes of a message whose data are copied faster than viewed
_new = tuple.__new__  # of a named tuple: its own constructor takes twice as long


def decode(body: bytes) -> tuple[int, m.Payload]:
    """Return (req_id, payload) of a message."""
    size = len(body)
    if size >= 60:
        kind = body[_KIND_AT]
        if kind == m.RESULT or kind == m.PART:
            front, req_id, middle, length = _VALUE.unpack_from(body)
            if front == _VALUE_FRONT and length == size - 60:
                value = body[60:] if size < _SMALL else memoryview(body)[60:]
                if middle == _RESULT_MIDDLE:
                    return req_id, _new(m.Result, (value,))
                if middle == _PART_MIDDLE:
                    return req_id, _new(m.Part, (value,))
        elif kind == m.CALL and size >= 112:
            fast = _decode_call(body, size)
            if fast is not None:
                return fast
        elif kind == m.CHUNK and size >= 72:
            front, req_id, middle, total, offset, length = _CHUNK.unpack_from(body)
            same = front == _CHUNK_FRONT and middle == _CHUNK_MIDDLE
            if same and offset == 4 and length == size - 72:
                return req_id, m.Chunk(total, memoryview(body)[72:])
    return _decode_any(body)


def _decode_call(body: bytes, size: int) -> tuple[int, m.Payload] | None:
    front, req_id, middle, server, deadline_ns, max_answer, window, method_at, arguments_at, trail_at = (
        _CALL.unpack_from(body)
    )
    if front != _CALL_FRONT or middle != _CALL_MIDDLE or method_at != _METHOD_AT - 92 or trail_at:
        return None
    first = arguments_at + 96
    if first > size - 4:
        return None
    name_size = _LENGTH.unpack_from(body, _METHOD_AT)[0]
    name_end = 108 + name_size
    if name_size > m.MAX_METHOD or first != name_end + 4 - name_size % 4 or body[name_end]:
        return None
    if _LENGTH.unpack_from(body, first)[0] != size - first - 4:
        return None
    try:
        method = body[108:name_end].decode()
    except UnicodeDecodeError:
        raise Malformed("a text that is not UTF-8") from None
    arguments = body[first + 4 :] if size < _SMALL else memoryview(body)[first + 4 :]
    return req_id, _new(m.Call, (server, deadline_ns, max_answer, window, method, arguments, ()))


def _decode_any(body: bytes) -> tuple[int, m.Payload]:
    root = Table.root(body, IDENTIFIER)
    kind = root.u8(1)
    reader = _READERS.get(kind)
    if reader is None:
        raise Malformed(f"payload type {kind}")
    return root.u64(0), reader(root.table(2))


def _call(t: Table) -> m.Call:
    return m.Call(
        t.u64(0),
        t.i64(1),
        t.u64(2),
        t.u32(3),
        t.text(4, required=True, limit=m.MAX_METHOD),
        t.octets(5),
        t.u64s(6, LONGEST_TRAIL),
    )


_READERS: dict[int, Callable[[Table], m.Payload]] = {
    m.HELLO: lambda t: m.Hello(t.u32(0), t.u64(1), t.u64(2), t.text(3, limit=255)),
    m.CALL: _call,
    m.CANCEL: lambda t: m.Cancel(),
    m.CREDIT: lambda t: m.Credit(t.u32(0)),
    m.RESULT: lambda t: m.Result(t.octets(0)),
    m.PART: lambda t: m.Part(t.octets(0)),
    m.CHUNK: lambda t: m.Chunk(t.u64(0), t.octets(1)),
    m.END: lambda t: m.End(),
    m.ERROR: lambda t: m.Error(t.u8(0), t.text(1), t.text(2), t.text(3)),
}


# The strict reader

_U8: Final = Struct("<B")
_U16: Final = Struct("<H")
_I32: Final = Struct("<i")
_U32: Final = Struct("<I")
_I64: Final = Struct("<q")
_U64: Final = Struct("<Q")


class Malformed(Exception):
    """These bytes are not a message of calls."""


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
        """Return the offset of a field in the message, 0 if it is absent."""
        if number >= self._fields:
            return 0
        offset: int = _U16.unpack_from(self._buffer, self._vtable + 4 + 2 * number)[0]
        if offset == 0:
            return 0
        _need(offset >= 4 and offset + width <= self._size, "a field outside its table")
        at = self._at + offset
        _need(at % width == 0, "a field that is not aligned")
        return at

    def _scalar(self, number: int, form: Struct) -> int:
        at = self._field(number, form.size)
        return int(form.unpack_from(self._buffer, at)[0]) if at else 0

    def u8(self, number: int) -> int:
        return self._scalar(number, _U8)

    def u32(self, number: int) -> int:
        return self._scalar(number, _U32)

    def i64(self, number: int) -> int:
        return self._scalar(number, _I64)

    def u64(self, number: int) -> int:
        return self._scalar(number, _U64)

    def _target(self, number: int) -> int:
        """Return the target of an offset field, 0 if it is absent."""
        at = self._field(number, 4)
        if not at:
            return 0
        target: int = at + _U32.unpack_from(self._buffer, at)[0]
        _need(target > at and target % 4 == 0 and target + 4 <= len(self._buffer), "an offset to nowhere")
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
