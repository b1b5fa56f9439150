# SPDX-License-Identifier: Apache-2.0
"""Data on stdout: JSON lines, a rich table on a terminal, plain columns in a pipe.

Names, types and bodies are untrusted. Everything here except ``put`` escapes control characters.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from slipring.units import printable

if TYPE_CHECKING:
    from rich.table import Table


class Column(NamedTuple):
    title: str
    right: bool = False


_NO_LIMIT = 10_000
Rows = Sequence[Sequence[str]]


def stdout() -> BinaryIO:
    """Return the byte stream of stdout, or of /dev/null when the command has no stdout."""
    return cast(BinaryIO, sys.stdout.buffer if sys.stdout is not None else open(os.devnull, "wb"))


def to_terminal() -> bool:
    """Whether stdout is a terminal, on which output may act."""
    return sys.stdout is not None and sys.stdout.isatty()


def on_terminal() -> bool:
    """Whether stdout is a terminal with more abilities than a pipe."""
    return to_terminal() and os.environ.get("TERM", "") not in ("", "dumb")


def json_text(value: Any, default: Callable[[Any], Any] | None = None) -> str:
    """Return ``value`` as JSON in one line; characters that are not printable are escaped."""
    text = json.dumps(value, ensure_ascii=False, default=default)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    return text


def json_line(value: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    return json_text(value, default).encode() + b"\n"


def put(data: bytes) -> None:
    """Write ``data`` to stdout unchanged."""
    out = stdout()
    out.write(data)
    out.flush()


def put_line(text: str) -> None:
    put(printable(text).encode("utf-8", "backslashreplace") + b"\n")


def put_json(value: Any, default: Callable[[Any], Any] | None = None) -> None:
    put(json_line(value, default))


def put_table(columns: Sequence[Column], rows: Rows, title: str = "") -> None:
    """Show ``rows``; without rows, show the headings on a terminal only."""
    if not on_terminal():
        heading = f"{printable(title)}\n" if title else ""
        put((heading + plain(columns, rows)).encode("utf-8", "backslashreplace"))
        return
    from rich.console import Console

    table = rich_table(columns, rows, title)
    needed = Console(width=_NO_LIMIT).measure(table).maximum
    Console(width=max(Console().width, needed)).print(
        table
    )  # a narrow terminal wraps lines; no figure is cut


def plain(columns: Sequence[Column], rows: Rows) -> str:
    """Return columns aligned with spaces, without cutting any text."""
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
