# SPDX-License-Identifier: Apache-2.0
"""Messages as bytes for stdout: bodies of untyped topics, fields of typed ones.

A message that does not fit its schema is one line on stderr; the next one is printed. `failures` counts such messages
and topics. What one topic of a pattern does not have (a field, a package) is reported once for the topic.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

import slipring
from slipring._bus.typed.subscriber_reading import PlainMessage
from slipring.cli.terminal import output
from slipring.cli.terminal.error_text import describe
from slipring.cli.terminal.framing import Framing, join
from slipring.cli.terminal.process_exit import complain
from slipring.units import printable

if TYPE_CHECKING:
    from slipring.cli.terminal.field_paths import FieldPath

Message = slipring.Message
_MOST = 80  # characters of a value on a terminal


class MessageOutput:
    """The bytes of batches. untyped, typed: of one message."""

    def __init__(
        self,
        untyped: Callable[[Message], bytes],
        typed: Callable[[Message, PlainMessage], bytes],
        several: bool,
    ) -> None:
        self.failures = 0
        self._untyped, self._typed, self._several = untyped, typed, several
        self._refused: set[str] = set()

    def of(self, batch: Sequence[Message]) -> bytes:
        if not self._several and batch and _is_untyped(batch[0]):  # and so are all messages of its topic
            return b"".join(map(self._untyped, batch))
        return b"".join(self._one(message) for message in batch)

    def _one(self, message: Message) -> bytes:
        if message.topic in self._refused:
            return b""
        try:
            value = message.value
            if isinstance(value, PlainMessage):
                return self._typed(message, value)
            return self._untyped(message)
        except slipring.Undecodable as error:
            self._report(error)
        except (slipring.Corrupt, slipring.MissingExtra, click.ClickException) as error:
            if isinstance(error, slipring.MissingExtra):
                error.add_note("--raw prints the bytes without it")
            if not self._several:
                raise
            self._refused.add(message.topic)
            self._report(error)
        return b""

    def _report(self, error: Exception) -> None:
        self.failures += 1
        complain(f"error: {describe(error)}")


def _is_untyped(message: Message) -> bool:
    try:
        return message.value is message.body
    except slipring.SlipringError:  # of a decoder
        return False


class Bodies:
    """The bytes of batches: bodies as they were sent, whatever the schema."""

    failures = 0

    def __init__(self, framing: Framing) -> None:
        self._framing = framing

    def of(self, batch: Sequence[Message]) -> bytes:
        return join((bytes(message.body) for message in batch), self._framing)


def _untyped(several: bool) -> Callable[[Message], bytes]:
    """Return the function for messages of untyped topics: as they are, on a terminal without what it would obey."""
    if output.to_terminal():
        return lambda message: f"{_prefix(message, several)}{printable(_text(message))}\n".encode()
    if several:
        return lambda message: b"%s: %s\n" % (message.topic.encode(), message.body)
    return lambda message: b"%s\n" % message.body


def _text(message: Message) -> str:
    return bytes(message.body).decode("utf-8", "backslashreplace")


def _prefix(message: Message, several: bool) -> str:
    return f"{message.topic}: " if several else ""


def lines(several: bool) -> MessageOutput:
    """Return the output as text."""
    most = _MOST if output.to_terminal() else None

    def typed(message: Message, found: PlainMessage) -> bytes:
        from slipring.cli.terminal.field_text import word

        who = f" {word(message.sender)}" if message.sender else ""
        kind = f" ({word(message.type)})" if message.type else ""
        start = f"{_prefix(message, several)}#{message.seq}{who}{kind}"
        return f"{start}  {_fields(found, most)}\n".encode()

    return MessageOutput(_untyped(several), typed, several)


def _fields(found: PlainMessage, most: int | None) -> str:
    from slipring._bus.schema import field_types as kinds
    from slipring.cli.terminal.field_text import shown

    schema, value = found
    if schema.encoding == "arrow":
        return shown(kinds.List(schema.root), value, most)
    row = _row(found)
    return " ".join(f"{name}={shown(kind, row[name], most)}" for name, kind in schema.fields)


def _row(found: PlainMessage) -> dict[str, Any]:
    """Return the columns of a message; one that is not a structure has the column value."""
    return found.value if isinstance(found.value, dict) else {"value": found.value}


def json_lines(several: bool) -> MessageOutput:
    """Return the output as one JSON object for each message."""
    return MessageOutput(
        lambda message: output.json_line({**_record(message), **_body(message)}),
        lambda message, found: output.json_line({**_record(message), "value": _json_value(found)}),
        several,
    )


def _record(message: Message) -> dict[str, object]:
    return {
        "topic": message.topic,
        "seq": message.seq,
        "time_ns": message.time_ns,
        "sender": message.sender,
        "type": message.type,
    }


def _body(message: Message) -> dict[str, object]:
    content = bytes(message.body)
    try:
        return {"body": content.decode("utf-8"), "encoding": "utf-8"}
    except UnicodeDecodeError:
        return {"body": base64.b64encode(content).decode("ascii"), "encoding": "base64"}


def _json_value(found: PlainMessage) -> Any:
    from slipring._bus.schema.json_values import to_json

    if found.schema.encoding == "arrow":
        return [to_json(found.schema.root, row) for row in found.value]
    return to_json(found.schema.root, found.value)


def without_fields(topic: str) -> click.ClickException:
    return click.ClickException(f"topic {topic!r} has no schema: --fields needs a topic with one")


def _without_schema(message: Message) -> bytes:
    raise without_fields(message.topic)


def _rows(found: PlainMessage) -> list[dict[str, Any]]:
    return found.value if found.schema.encoding == "arrow" else [_row(found)]


def json_fields(paths: Sequence[FieldPath], several: bool) -> MessageOutput:
    """Return the output as one JSON object of these fields for each message, or row of an Arrow batch."""

    def typed(message: Message, found: PlainMessage) -> bytes:
        from slipring._bus.schema.json_values import to_json
        from slipring.cli.terminal.field_paths import type_at

        topic = {"topic": message.topic} if several else {}
        types = [type_at(path, found.schema, message.topic) for path in paths]
        return b"".join(
            output.json_line(
                topic
                | {path.text: to_json(kind, path.of(row)) for path, kind in zip(paths, types, strict=True)}
            )
            for row in _rows(found)
        )

    return MessageOutput(_without_schema, typed, several)


def columns(paths: Sequence[FieldPath], several: bool) -> MessageOutput:
    """Return the output as columns: aligned below a heading on a terminal, separated by tabs elsewhere."""
    aligned = Aligned(["topic"] * several + [path.text for path in paths]) if output.to_terminal() else None

    def cells(message: Message, found: PlainMessage) -> Iterator[list[str]]:
        from slipring.cli.terminal.field_paths import type_at
        from slipring.cli.terminal.field_text import bare

        types = [type_at(path, found.schema, message.topic) for path in paths]
        for row in _rows(found):
            texts = (
                bare(kind, path.of(row), None if aligned is None else _MOST)
                for path, kind in zip(paths, types, strict=True)
            )
            yield [message.topic] * several + list(texts)

    def typed(message: Message, found: PlainMessage) -> bytes:
        join = "\t".join if aligned is None else aligned.line
        return "".join(f"{join(row)}\n" for row in cells(message, found)).encode()

    return MessageOutput(_without_schema, typed, several)


class Aligned:
    """Lines of columns whose widths grow as needed; the first one follows the heading."""

    def __init__(self, heading: list[str]) -> None:
        self._heading: list[str] | None = heading
        self._widths = [0] * len(heading)

    def line(self, cells: Sequence[str]) -> str:
        heading, self._heading = self._heading, None
        rows = [cells] if heading is None else [heading, cells]
        for row in rows:
            self._widths = [max(width, len(cell)) for width, cell in zip(self._widths, row, strict=True)]
        return "\n".join(map(self._padded, rows))

    def _padded(self, cells: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, self._widths, strict=True))
        return "  ".join(padded).rstrip()
