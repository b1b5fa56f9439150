# SPDX-License-Identifier: Apache-2.0
"""Cursors of a topic: named positions that outlive their subscriber. Only commit moves them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slipring.errors import BadArgument, Busy, TopicGone, TopicNotFound

from .reader import Reader

_MAX_NAME = 63


def check_name(name: str) -> None:
    if len(name) > _MAX_NAME:
        text = f"the name of a cursor may have at most {_MAX_NAME} characters, not {len(name)}"
        raise BadArgument(text, argument="cursor")


@dataclass(slots=True)
class Cursor:
    position: int
    expires_ns: int
    created_ns: int
    touched_ns: int
    reader: Reader | None = None

    def ends_ns(self) -> int | None:
        """Return when it expires unless a subscriber attaches, or None."""
        return self.touched_ns + self.expires_ns if self.expires_ns and self.reader is None else None

    def expired(self, now_ns: int) -> bool:
        ends_ns = self.ends_ns()
        return ends_ns is not None and ends_ns <= now_ns


class Cursors:
    def __init__(self, topic: str, most: int) -> None:
        self._topic = topic
        self._most = most
        self.by_name: dict[str, Cursor] = {}

    def holds(self, now_ns: int) -> Iterator[int]:
        """Return the positions from which a reliable topic keeps all messages."""
        return (cursor.position for cursor in self.by_name.values() if not cursor.expired(now_ns))

    def sweep(self, now_ns: int) -> None:
        self.by_name = {name: one for name, one in self.by_name.items() if not one.expired(now_ns)}

    def of(self, reader: Reader) -> Cursor | None:
        """Return the cursor of a reader."""
        return next((cursor for cursor in self.by_name.values() if cursor.reader is reader), None)

    def find(self, name: str) -> Cursor | None:
        """Return a cursor that a subscriber may attach to; None if it has to be created."""
        check_name(name)
        cursor = self.by_name.get(name)
        if cursor is None and len(self.by_name) >= self._most:
            text = f"the topic already has max_cursors={self._most} cursors: drop one, "
            text += "or create it with a larger max_cursors="
            raise Busy(text, argument="max_cursors")
        if cursor is not None and cursor.reader is not None:
            raise Busy(f"a live subscriber already uses cursor '{name}'", argument="cursor")
        return cursor

    def attach(self, name: str, reader: Reader, now_ns: int) -> None:
        new = Cursor(reader.position, reader.options.expires_ns, now_ns, now_ns)
        cursor = self.by_name.setdefault(name, new)
        cursor.reader, cursor.touched_ns = reader, now_ns

    def detach(self, reader: Reader, now_ns: int | None) -> None:
        """now_ns: None if the reader was killed, which does not update the time."""
        cursor = self.of(reader)
        if cursor is not None:
            cursor.reader = None
            cursor.touched_ns = cursor.touched_ns if now_ns is None else now_ns

    def commit(self, reader: Reader, seq: int | None, now_ns: int) -> None:
        if reader.options.cursor is None:
            text = "this subscriber has no cursor to commit: open it with cursor="
            raise BadArgument(text, argument="cursor")
        cursor = self.of(reader)
        if cursor is None:
            raise TopicGone("this subscriber's cursor was dropped", argument="cursor")
        position = reader.position if seq is None else seq
        if not cursor.position <= position <= reader.position:
            allowed = f"{cursor.position} (the last commit) to {reader.position} (received so far)"
            raise BadArgument(f"seq={position} cannot be committed: allowed are {allowed}", argument="seq")
        cursor.position, cursor.touched_ns = position, now_ns

    def drop(self, name: str) -> None:
        if name not in self.by_name:
            raise TopicNotFound(f"topic '{self._topic}' has no cursor '{name}'", argument="cursor")
        if self.by_name[name].reader is not None:
            raise Busy(f"a live subscriber uses cursor '{name}': close it first", argument="cursor")
        del self.by_name[name]
