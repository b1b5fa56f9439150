# SPDX-License-Identifier: Apache-2.0
"""How a bus, statistics and messages look in a notebook: small plain tables. Everything shown is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from slipring.errors import SlipringError

if TYPE_CHECKING:
    from .bus import Bus
    from .native import _native

_SHOWN_BYTES = 64
_COLUMNS = ("topic", "delivery", "capacity", "published", "publishers", "readers")


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    def row(tag: str, cells: Iterable[object]) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"

    titles = list(head)
    above = f"<thead>{row('th', titles)}</thead>" if titles else ""
    return f"<table>{above}<tbody>{''.join(row('td', cells) for cells in rows)}</tbody></table>"


def bus(shown: Bus) -> str:
    title = f"<p>{escape(repr(shown))}</p>"
    if shown.closed:
        return title
    names = shown.topics()
    return title + (table(_COLUMNS, (_topic(shown, name) for name in names)) if names else "<p>no topics</p>")


def _topic(shown: Bus, name: str) -> list[object]:
    try:
        stats = shown.stats(name)
    except SlipringError as error:
        return [name, f"{type(error).__name__}: {error}"]
    living = [sum(1 for entry in stats[users] if entry["alive"]) for users in ("publishers", "readers")]
    return [name, *(stats[column] for column in _COLUMNS[1:4]), *living]


def facts(shown: Mapping[str, Any]) -> str:
    """A dict by rows; lists of dicts as tables of their own below it."""
    lists = {name: value for name, value in shown.items() if _is_table(value)}
    parts = [table((), ((name, value) for name, value in shown.items() if name not in lists))]
    for name, rows in lists.items():
        head = list(dict.fromkeys(key for row in rows for key in row))
        cells = ([row.get(key, "") for key in head] for row in rows)
        parts.append(f"<p>{escape(name)}</p>{table(head, cells)}")
    return "".join(parts)


def _is_table(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def message(shown: _native.Message) -> str:
    size = len(shown.body)
    start = bytes(shown.body[:_SHOWN_BYTES])
    body = f"{start!r} … {size} bytes" if size > _SHOWN_BYTES else repr(start)
    head = ("topic", "seq", "time_ns", "sender", "type", "body")
    return table(head, [(shown.topic, shown.seq, shown.time_ns, shown.sender, shown.type, body)])
