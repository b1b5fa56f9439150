# SPDX-License-Identifier: Apache-2.0
"""`bus.stats`, with the names of a topic in shared memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cursors import Cursor
    from .reader import Reader
    from .topic import Topic, Writer

Row = dict[str, Any]


def _writer(writer: Writer) -> Row:
    return {
        "entry": writer.index,
        "alive": writer.alive,
        "pid": os.getpid(),
        "sender": writer.sender,
        "published": writer.published,
        "bytes": writer.bytes,
    }


def _reader(reader: Reader, tail: int) -> Row:
    reader.settle()
    # In shared memory a reliable reader has one word for its hold and its position: the lower of the two.
    is_reliable = reader.reliable and not reader.options.cursor
    held = [seq for seq in reader.held if not is_reliable or seq < reader.position]
    return {
        "entry": reader.index,
        "alive": reader.alive,
        "pid": os.getpid(),
        "kind": "cursor" if reader.options.cursor else "reliable" if reader.reliable else "lossy",
        "position": reader.position,
        "lag": tail - reader.position,
        "received": reader.received,
        "lost": reader.lost,
        "filtered": reader.filtered,
        "held": bool(held),
    }


def _cursor(name: str, cursor: Cursor, tail: int, now_ns: int) -> Row:
    return {
        "name": name,
        "position": cursor.position,
        "lag": tail - cursor.position,
        "created_ns": cursor.created_ns,
        "attached": cursor.reader is not None,
        "age_s": (now_ns - cursor.touched_ns) / 1e9,
        "expires_s": cursor.expires_ns / 1e9 if cursor.expires_ns else None,
    }


def _open_claims(topic: Topic) -> list[Row]:
    """The oldest open claim of each publisher, by sequence."""
    writers = {one.number: one for one in topic.writers}
    oldest: dict[int, int] = {}
    for seq, entry in sorted(topic.ring.open.items()):
        oldest.setdefault(entry.writer, seq)
    return [
        {"seq": seq, "entry": writers[number].index, "pid": os.getpid(), "sender": writers[number].sender}
        for number, seq in oldest.items()
    ]


def statistics(topic: Topic, now_ns: int) -> Row:
    ring, geometry = topic.ring, topic.geometry
    return {
        "content": geometry.content,
        "delivery": geometry.delivery,
        "writers": geometry.writers,
        "capacity": geometry.capacity,
        "slots": geometry.slots,
        "max_readers": geometry.max_readers,
        "max_writers": geometry.max_writers,
        "max_cursors": geometry.max_cursors,
        "mode": geometry.mode,
        "generation": topic.generation,
        "created_ns": topic.created_ns,
        "creator_pid": os.getpid(),
        "file_bytes": 0,
        "schema_bytes": 0 if topic.schema is None else len(topic.schema),
        "published": ring.published,
        "abandoned": len(ring.abandoned),
        "unsettled": len(ring.open),
        "bytes": ring.bytes,
        "oldest": ring.oldest,
        "tail": ring.tail,
        "retained": ring.tail - ring.oldest,
        "open_claims": _open_claims(topic),
        "publishers": [_writer(one) for one in sorted(topic.writers, key=lambda one: one.index)],
        "readers": [
            _reader(one, ring.tail)
            for one in sorted(topic.readers, key=lambda one: one.index or 0)
            if one.index is not None
        ],
        "cursors": [_cursor(name, one, ring.tail, now_ns) for name, one in topic.cursors.by_name.items()],
    }
