# SPDX-License-Identifier: Apache-2.0
"""The messages between a bridge server and its clients, as docs/spec/bridge.md defines them.

A message is a list of frames. The first frame has the kind, one letter, and its numbers. The frames behind it depend on
the kind: none, one of JSON, one of raw bytes, or a table and the bodies it describes. `decode` checks every frame that
comes from the network; the rest of the package only sees checked messages. transfer.py cuts large messages into pieces.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

MAGIC: Final = b"SLRB"
VERSION: Final = 2
CLIENT_ID_BYTES: Final = 16
MOST_JSON_BYTES: Final = 4 << 20
MOST_NAME_BYTES: Final = 255  # of a type or sender in a ring
MOST_TEXT_BYTES: Final = 1024  # the same in a record: bytes that are not UTF-8 are replaced by longer ones
MOST_RECORDS: Final = 65536

_ENTRY = struct.Struct("<QqQQIHH")  # number, time_ns, lost, filtered, sizes of body, type, sender

# The numbers behind the letter of a kind, and the frames that follow: "" none, "j" JSON, "b" bytes, "p" records.
HELLO, WELCOME, REFUSED, ENDED = b"H", b"W", b"X", b"E"
REQUEST, REPLY = b"R", b"r"
PUBLISH, BATCH, ACK = b"P", b"B", b"A"
SYNC, SYNCED = b"S", b"s"
ATTACHED, FAILED = b"T", b"F"
PING, PONG, BYE = b"I", b"O", b"Q"
LARGE, PIECE = b"L", b"D"
HEARTBEAT: Final = 0  # the number of a PING that is only a sign of life, and of a PONG that answers it
_KINDS: Final[dict[bytes, tuple[struct.Struct, str]]] = {
    HELLO: (struct.Struct("<4sH16s"), "j"),  # magic, version, client id
    WELCOME: (struct.Struct("<H"), "j"),  # version
    REFUSED: (struct.Struct("<H"), "j"),  # version
    REQUEST: (struct.Struct("<Q"), "j"),  # number of the request
    REPLY: (struct.Struct("<Q"), "j"),
    PUBLISH: (
        struct.Struct("<QId"),
        "p",
    ),  # number of the request, publisher, seconds to wait (inf: forever)
    BATCH: (struct.Struct("<IIQQQQ"), "p"),  # subscriber, epoch; then: position, tail, lost, filtered
    ACK: (struct.Struct("<IIQ"), ""),  # subscriber, epoch, position
    SYNC: (struct.Struct("<IIQ"), ""),  # subscriber, epoch, token
    SYNCED: (struct.Struct("<IIQ"), ""),
    ATTACHED: (struct.Struct("<II"), "j"),  # subscriber, epoch
    FAILED: (struct.Struct("<II"), "j"),
    PING: (struct.Struct("<Q"), ""),
    PONG: (struct.Struct("<Q"), ""),
    BYE: (struct.Struct("<"), ""),
    ENDED: (struct.Struct("<"), ""),
    LARGE: (struct.Struct("<B4Q"), ""),  # how many frames the message has that follows in pieces, their sizes
    PIECE: (struct.Struct("<"), "b"),
}
_FRAMES: Final = {"": 1, "j": 2, "b": 2, "p": 4}


class Malformed(ValueError):
    """The peer sent something that is not a message of this protocol."""


class Record(NamedTuple):
    """One message of a topic. number: its sequence, or its number at its origin when it is published."""

    number: int
    time_ns: int
    lost: int
    filtered: int
    type: str
    sender: str
    body: bytes | memoryview


class Window(NamedTuple):
    """How many unacknowledged messages and bytes a subscription may have. One message alone may exceed the bytes."""

    messages: int = 1024
    bytes: int = 1 << 20


class Message(NamedTuple):
    """A message of the protocol, checked."""

    kind: bytes
    numbers: tuple[Any, ...]
    content: Any  # None, a dict, bytes, or a list of records


Frames = list[bytes]


def plain(kind: bytes, *numbers: int | float | bytes) -> Frames:
    return [kind + _KINDS[kind][0].pack(*numbers)]


def with_json(kind: bytes, *numbers: int | float | bytes, content: dict[str, Any]) -> Frames:
    return [*plain(kind, *numbers), json.dumps(content, separators=(",", ":")).encode()]


def with_records(kind: bytes, *numbers: int | float | bytes, records: Sequence[Record]) -> Frames:
    table: list[bytes] = []
    texts: list[bytes] = []
    bodies: list[bytes | memoryview] = []
    for number, time_ns, lost, filtered, type, sender, body in records:
        type_bytes, sender_bytes = type.encode(), sender.encode()
        sizes = len(body), len(type_bytes), len(sender_bytes)
        table.append(_ENTRY.pack(number, time_ns, lost, filtered, *sizes))
        texts += (type_bytes, sender_bytes)
        bodies.append(body)
    joined = bytes(bodies[0]) if len(bodies) == 1 else b"".join(bodies)
    return [*plain(kind, *numbers), struct.pack("<I", len(table)), b"".join(table) + b"".join(texts), joined]


def decode(frames: Sequence[bytes]) -> Message:
    """Return the message in these frames, or raise Malformed."""
    head = frames[0] if frames else b""
    kind = bytes(head[:1])
    if kind not in _KINDS:
        raise Malformed(f"unknown kind {kind!r}")
    layout, follows = _KINDS[kind]
    if len(head) != 1 + layout.size:
        raise Malformed(f"kind {kind!r} with {len(head)} bytes")
    numbers = layout.unpack_from(head, 1)
    if any(isinstance(number, int) and number >= 1 << 63 for number in numbers):
        raise Malformed("a number beyond 2**63")
    if len(frames) != _FRAMES[follows]:
        raise Malformed(f"kind {kind!r} with {len(frames)} frames")
    if follows == "j":
        return Message(kind, numbers, _json(frames[1]))
    if follows == "b":
        return Message(kind, numbers, frames[1])
    return Message(kind, numbers, _records(*frames[1:]) if follows else None)


def _json(frame: bytes) -> dict[str, Any]:
    if len(frame) > MOST_JSON_BYTES:
        raise Malformed(f"{len(frame)} bytes of JSON")
    try:
        content = json.loads(frame)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"a frame that is not valid JSON: {error}") from None
    if not isinstance(content, dict):
        raise Malformed("JSON that is not an object")
    return content


def _records(count_frame: bytes, table: bytes, bodies: bytes) -> list[Record]:
    if len(count_frame) != 4:
        raise Malformed("no count of records")
    (count,) = struct.unpack("<I", count_frame)
    if count > MOST_RECORDS or count * _ENTRY.size > len(table):
        raise Malformed(f"{count} records in {len(table)} bytes")
    entries = [_ENTRY.unpack_from(table, at * _ENTRY.size) for at in range(count)]
    text_at, body_at = count * _ENTRY.size, 0
    records = []
    for number, time_ns, lost, filtered, body_size, type_size, sender_size in entries:
        if max(number, lost, filtered) >= 1 << 63 or max(type_size, sender_size) > MOST_TEXT_BYTES:
            raise Malformed("a number or a text beyond its limit")
        type = _text(table, text_at, type_size)
        sender = _text(table, text_at + type_size, sender_size)
        text_at += type_size + sender_size
        body = bodies[body_at : body_at + body_size]
        body_at += body_size
        records.append(Record(number, time_ns, lost, filtered, type, sender, body))
    if text_at != len(table) or body_at != len(bodies):
        raise Malformed("sizes that contradict the frames")
    return records


def _text(table: bytes, at: int, size: int) -> str:
    try:
        return table[at : at + size].decode()
    except UnicodeDecodeError:
        raise Malformed("a text that is not UTF-8") from None
