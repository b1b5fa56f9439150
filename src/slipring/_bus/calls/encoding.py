# SPDX-License-Identifier: Apache-2.0
"""Messages as FlatBuffers, written by hand for this one schema.

A FlatBuffer may place its parts in any order. Here every kind of message has one fixed form, of which only a
few numbers and the data at its end vary, so that writing is one `struct.pack` and reading (decoding.py) can
recognise the form by comparing it. docs/spec/calls.md shows one byte by byte; programs in other languages
use what flatc generates for them and are understood as well.

    0   offset of the root table, "SLRC"
    8   vtable of Message: 10, 18, req_id at 8, payload_type at 16, payload at 4
    24  Message: offset to its vtable; 28 offset of the payload; 32 req_id; 40 payload_type
    42  vtable of the payload, and from an even place on the payload's table
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from struct import pack as pack_now

from . import messages as m

IDENTIFIER = b"SLRC"
LONGEST_ERROR_TEXT = 4096  # bytes of an error's message, and of its type
LONGEST_TRACEBACK = 8192


def _front(payload_at: int) -> bytes:
    """The bytes before req_id."""
    return pack_now("<I4sHHHHH6xiI", 24, IDENTIFIER, 10, 18, 8, 16, 4, 16, payload_at - 28)


def _vtable(kind: int, table_at: int, size: int, *offsets: int) -> bytes:
    """payload_type, the payload's vtable, and the table's offset to it."""
    count = len(offsets)
    vtable = pack_now(f"<BxHH{count}H", kind, 4 + 2 * count, size, *offsets)
    return vtable + bytes(table_at - 40 - len(vtable)) + pack_now("<i", table_at - 42)


# Result and Part: the value's length at 56, the value at 60.
VALUE = Struct("<32sQ16sI")
VALUE_FRONT = _front(48)
RESULT_MIDDLE = _vtable(m.RESULT, 48, 8, 4) + pack_now("<I", 4)
PART_MIDDLE = _vtable(m.PART, 48, 8, 4) + pack_now("<I", 4)

# Chunk: total at 56, the data's length at 68, the data at 72.
CHUNK = Struct("<32sQ16sQII")
CHUNK_FRONT = _front(52)
CHUNK_MIDDLE = _vtable(m.CHUNK, 52, 16, 4, 12)

# Call: server, deadline_ns, max_answer, window from 64 on; offsets of method, arguments and trail at 92, 96
# and 100; the method's length at 104, the method, a zero, padding to 4; the arguments' length, the arguments.
CALL = Struct("<32sQ24sQqQIIII")
CALL_FRONT = _front(60)
CALL_MIDDLE = _vtable(m.CALL, 60, 44, 4, 12, 20, 28, 32, 36, 0)
CALL_MIDDLE_WITH_TRAIL = _vtable(m.CALL, 60, 44, 4, 12, 20, 28, 32, 36, 40)
# defect call_method_misplaced: METHOD_AT = 108
METHOD_AT = 104

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
    """Length, text, a zero, padding to 4."""
    return b"%b%b%b" % (_LENGTH.pack(len(text)), text, bytes(4 - len(text) % 4))


@lru_cache(maxsize=1024)
def _method(name: str) -> bytes:
    return _string(name.encode())


def call(req_id: int, body: m.Call) -> bytes:
    server, deadline_ns, max_answer, window, name, arguments, trail = body
    method = _method(name)
    arguments_at = METHOD_AT + len(method)
    middle, trail_at, tail = CALL_MIDDLE, 100, b""
    if trail:
        end = arguments_at + 4 + len(arguments)
        padding = -(end + 4) % 8  # the length ends where 8-byte numbers may begin
        middle, trail_at = CALL_MIDDLE_WITH_TRAIL, end + padding
        tail = pack_now(f"<{padding}xI{len(trail)}Q", len(trail), *trail)
    head = CALL.pack(
        CALL_FRONT, req_id, middle, server, deadline_ns, max_answer, window,
        METHOD_AT - 92, arguments_at - 96, trail_at - 100,
    )  # fmt: skip
    return b"".join((head, method, _LENGTH.pack(len(arguments)), arguments, tail))


def result(req_id: int, value: bytes | memoryview) -> bytes:
    return b"".join((VALUE.pack(VALUE_FRONT, req_id, RESULT_MIDDLE, len(value)), value))


def part(req_id: int, value: bytes | memoryview) -> bytes:
    return b"".join((VALUE.pack(VALUE_FRONT, req_id, PART_MIDDLE, len(value)), value))


def chunk(req_id: int, total: int, data: bytes | memoryview) -> bytes:
    return b"".join((CHUNK.pack(CHUNK_FRONT, req_id, CHUNK_MIDDLE, total, 4, len(data)), data))


def end(req_id: int) -> bytes:
    return _BARE.pack(VALUE_FRONT, req_id, _END_MIDDLE)


def cancel(req_id: int) -> bytes:
    return _BARE.pack(VALUE_FRONT, req_id, _CANCEL_MIDDLE)


def credit(req_id: int, count: int) -> bytes:
    return _CREDIT.pack(VALUE_FRONT, req_id, _CREDIT_MIDDLE, count)


def hello(body: m.Hello) -> bytes:
    version, instance, incarnation, codec = body
    head = _HELLO.pack(_HELLO_FRONT, 0, _HELLO_MIDDLE, instance, incarnation, version, 4)
    return head + _string(codec.encode())


def _clipped(text: str) -> bytes:
    """As UTF-8, never cut in the middle of a character; what is not text is replaced."""
    encoded = text.encode("utf-8", "replace")
    return encoded[:LONGEST_ERROR_TEXT].decode("utf-8", "ignore").encode()


def _end_of(text: str) -> bytes:
    """The last part of a traceback, which says what happened."""
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
