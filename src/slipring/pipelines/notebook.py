# SPDX-License-Identifier: Apache-2.0
"""Recordings and their reports as notebooks show them: a heading and a table of topics, as HTML without style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from slipring.units import counted, duration, frequency, moment, number, size

from .lake.contents import contents
from .report.page.markup import tag, words

if TYPE_CHECKING:
    from .lake import Lake
    from .report import Findings

_NONE = "-"


def _shown(heading: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The first column is text from a recording, the others are figures."""
    head = tag("tr", *(tag("th", words(column)) for column in columns))
    body = [tag("tr", *(tag("td", words(cell)) for cell in row)) for row in rows]
    return tag(
        "div", tag("p", tag("b", words(heading))), tag("table", tag("thead", head), tag("tbody", *body))
    )


def of_findings(found: Findings) -> str:
    totals = found.totals
    lost = f"{counted(totals['lost'], 'message')} lost" if totals["lost"] else "nothing lost"
    heading = (
        f"{found.name}: {counted(totals['messages'], 'message')} in {duration(totals['seconds'])}, {lost}"
    )
    rows = [
        (
            *(row["topic"], number(row["messages"])),
            _NONE if row["rate_hz"] is None else f"{frequency(row['rate_hz'])}/s",
            *(size(row["bytes"]), duration(row["interval_s_p50"]), duration(row["delay_s_p50"])),
            *(number(row["gaps"]), number(row["lost"])),
        )
        for row in found.topics
    ]
    columns = ("topic", "messages", "mean rate", "data", "interval p50", "delay p50", "gaps", "lost")
    return _shown(heading, columns, rows)


def of_lake(lake: Lake) -> str:
    found = contents(lake)
    messages = sum(one.messages for one in found)
    rows = [
        (
            *(one.topic, number(one.messages), number(one.lost), number(one.abandoned), size(one.bytes)),
            *(_NONE if at is None else moment(at) for at in (one.first_time_ns, one.last_time_ns)),
        )
        for one in found
    ]
    columns = ("topic", "messages", "lost", "abandoned", "files", "first message", "last message")
    return _shown(f"{lake.path}: {counted(messages, 'message')}", columns, rows)
