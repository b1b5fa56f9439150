# SPDX-License-Identifier: Apache-2.0
"""Messages from bytes that anybody may have written.

The forms of encoding.py that make up nearly all traffic are recognised by comparing all their fixed bytes
and the lengths at their ends. Everything else goes to the strict reader, which takes any correct FlatBuffer
of the schema. What is none raises Malformed.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from . import encoding as e
from . import messages as m
from .tables import Malformed, Table

__all__ = ["LONGEST_TRAIL", "Malformed", "decode"]

LONGEST_TRAIL = 64  # entries that are read; servers refuse calls nested deeper than their own limit
LONGEST_METHOD = 255
_LENGTH = Struct("<I")
_KIND_AT = 40
_SMALL = 4096
_new = tuple.__new__  # of a named tuple: its own constructor takes twice as long


def decode(body: bytes) -> tuple[int, m.Payload]:
    """(req_id, payload) of a message."""
    size = len(body)
    if size >= 60:
        kind = body[_KIND_AT]
        if kind == m.RESULT or kind == m.PART:
            front, req_id, middle, length = e.VALUE.unpack_from(body)
            if front == e.VALUE_FRONT and length == size - 60:
                if middle == e.RESULT_MIDDLE:
                    return req_id, _new(m.Result, (_rest(body, 60),))
                if middle == e.PART_MIDDLE:
                    return req_id, _new(m.Part, (_rest(body, 60),))
        elif kind == m.CALL and size >= 112:
            fast = _decode_call(body, size)
            if fast is not None:
                return fast
        elif kind == m.CHUNK and size >= 72:
            front, req_id, middle, total, offset, length = e.CHUNK.unpack_from(body)
            same = front == e.CHUNK_FRONT and middle == e.CHUNK_MIDDLE
            if same and offset == 4 and length == size - 72:
                return req_id, m.Chunk(total, memoryview(body)[72:])
    return _decode_any(body)


def _decode_call(body: bytes, size: int) -> tuple[int, m.Payload] | None:
    front, req_id, middle, server, deadline_ns, max_answer, window, method_at, arguments_at, trail_at = (
        e.CALL.unpack_from(body)
    )
    if front != e.CALL_FRONT or middle != e.CALL_MIDDLE or method_at != e.METHOD_AT - 92 or trail_at:
        return None
    first = arguments_at + 96
    if first > size - 4:
        return None
    name_size = _LENGTH.unpack_from(body, e.METHOD_AT)[0]
    name_end = 108 + name_size
    if name_size > LONGEST_METHOD or first != name_end + 4 - name_size % 4 or body[name_end]:
        return None
    if _LENGTH.unpack_from(body, first)[0] != size - first - 4:
        return None
    try:
        method = body[108:name_end].decode()
    except UnicodeDecodeError:
        raise Malformed("a text that is not UTF-8") from None
    arguments = _rest(body, first + 4)
    return req_id, _new(m.Call, (server, deadline_ns, max_answer, window, method, arguments, ()))


def _rest(body: bytes, place: int) -> bytes | memoryview:
    """Small ones are copied faster than looked at."""
    return body[place:] if len(body) < _SMALL else memoryview(body)[place:]


def _decode_any(body: bytes) -> tuple[int, m.Payload]:
    root = Table.root(body, e.IDENTIFIER)
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
        t.text(4, required=True, limit=LONGEST_METHOD),
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
