# SPDX-License-Identifier: Apache-2.0
"""HTML for notebooks: a bus, statistics, messages and batches as small plain tables. All text is escaped."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from slipring.errors import SlipringError

if TYPE_CHECKING:
    import pyarrow

    from .bus import Bus
    from .native import _native

_SHOWN_BYTES = 64
_SHOWN_ROWS = 20
_COLUMNS = ("topic", "delivery", "capacity", "published", "publishers", "readers")


class Facts(dict[str, Any]):
    """Statistics: a dict that a notebook shows as tables."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return facts(self)


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    from html import escape  # slow to import, and only notebooks need it

    def row(tag: str, cells: Iterable[object]) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"

    titles = list(head)
    above = f"<thead>{row('th', titles)}</thead>" if titles else ""
    return f"<table>{above}<tbody>{''.join(row('td', cells) for cells in rows)}</tbody></table>"


def _title(text: str) -> str:
    from html import escape

    return f"<p>{escape(text)}</p>"


def bus(shown: Bus) -> str:
    title = _title(repr(shown))
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
    """Return a dict by rows, with a table below it for each list of dicts."""
    lists = {name: value for name, value in shown.items() if _is_table(value)}
    parts = [table((), ((name, value) for name, value in shown.items() if name not in lists))]
    for name, rows in lists.items():
        head = list(dict.fromkeys(key for row in rows for key in row))
        cells = ([row.get(key, "") for key in head] for row in rows)
        parts.append(_title(name) + table(head, cells))
    return "".join(parts)


def _is_table(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def message(shown: _native.Message) -> str:
    head = ("topic", "seq", "time_ns", "sender", "type", "body")
    return table(
        head, [(shown.topic, shown.seq, shown.time_ns, shown.sender, shown.type, _beginning(shown.body))]
    )


def _beginning(body: Any) -> str:
    start = bytes(body[:_SHOWN_BYTES])
    return f"{start!r} … {len(body)} bytes" if len(body) > _SHOWN_BYTES else repr(start)


def show_batches(arrow: types.ModuleType, schema: pyarrow.Schema) -> None:
    """Let IPython show batches of messages, which have this schema; pyarrow's class has no HTML of its own."""
    shell = sys.modules["IPython"].get_ipython()
    formatter = shell.display_formatter.formatters["text/html"] if shell is not None else None
    if formatter is not None and arrow.RecordBatch not in formatter:
        formatter.for_type(arrow.RecordBatch, lambda shown: batch(shown, schema))


def batch(shown: pyarrow.RecordBatch, schema: pyarrow.Schema) -> str | None:
    """Return the first rows of a batch of messages; None for a batch of anything else."""
    from slipring.units import counted

    if shown.schema != schema:
        return None
    rows = shown.slice(0, _SHOWN_ROWS).to_pylist()
    cells = ([*list(row.values())[:-1], _beginning(row["value"])] for row in rows)
    more = f", the first {_SHOWN_ROWS}" if len(shown) > _SHOWN_ROWS else ""
    return f"<p>{counted(len(shown), 'message')}{more}</p>{table(shown.schema.names, cells)}"
