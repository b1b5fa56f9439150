# SPDX-License-Identifier: Apache-2.0
"""Data on stdout: JSON lines, a rich table on a terminal, plain columns in a pipe.

Names, types and bodies come from strangers. Everything here but ``put`` escapes what a terminal would obey.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from slipring.cli.terminal.units import printable

if TYPE_CHECKING:
    from rich.table import Table


class Column(NamedTuple):
    title: str
    right: bool = False


_NO_LIMIT = 10_000
Rows = Sequence[Sequence[str]]


def stdout() -> BinaryIO:
    """The byte stream behind stdout, or nowhere when the command was started without one."""
    return cast(BinaryIO, sys.stdout.buffer if sys.stdout is not None else open(os.devnull, "wb"))


def to_terminal() -> bool:
    """Whether stdout is a terminal: what is written there may act on it."""
    return sys.stdout is not None and sys.stdout.isatty()


def on_terminal() -> bool:
    """Whether stdout is a terminal that can do more than a pipe."""
    return to_terminal() and os.environ.get("TERM", "") not in ("", "dumb")


def json_line(value: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    """Return ``value`` as one line of JSON; what is not printable is escaped, as JSON allows."""
    text = json.dumps(value, ensure_ascii=False, default=default)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    return text.encode() + b"\n"


def put(data: bytes) -> None:
    """Write ``data`` to stdout exactly as it is."""
    out = stdout()
    out.write(data)
    out.flush()


def put_line(text: str) -> None:
    put(printable(text).encode("utf-8", "backslashreplace") + b"\n")


def put_json(value: Any, default: Callable[[Any], Any] | None = None) -> None:
    put(json_line(value, default))


def put_table(columns: Sequence[Column], rows: Rows, title: str = "") -> None:
    """Show ``rows``; without any, only a terminal sees the headings."""
    if not on_terminal():
        heading = f"{printable(title)}\n" if title else ""
        put((heading + plain(columns, rows)).encode("utf-8", "backslashreplace"))
        return
    from rich.console import Console

    table = rich_table(columns, rows, title)
    needed = Console(width=_NO_LIMIT).measure(table).maximum
    Console(width=max(Console().width, needed)).print(
        table
    )  # a narrow terminal wraps; no figure is cut short


def plain(columns: Sequence[Column], rows: Rows) -> str:
    """Columns aligned with spaces, nothing cut off."""
    cells = [
        [column.title.upper() for column in columns],
        *([printable(cell) for cell in row] for row in rows),
    ]
    widths = [max(len(row[at]) for row in cells) for at in range(len(columns))]
    lines = []
    for row in cells:
        padded = (
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        )
        lines.append("  ".join(padded).rstrip() + "\n")
    return "".join(lines)


def rich_table(columns: Sequence[Column], rows: Rows, title: str = "") -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    heading = Text(printable(title), style="bold") if title else None
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), title=heading)
    table.title_justify = "left"
    for column in columns:
        justify = "right" if column.right else "left"
        table.add_column(column.title, justify=justify, no_wrap=True, header_style="bold cyan")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
