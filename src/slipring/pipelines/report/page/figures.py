# SPDX-License-Identifier: Apache-2.0
"""The page's tables: topics, senders, types, calls, gaps, busiest minutes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from slipring.units import counted, duration, frequency, moment, number, size, speed

from ...html.markup import more, section, tag, wide, words
from ..findings import Findings, Row, by_topic

NONE = "-"
LARGEST = 3  # gaps of a topic that are shown at once


class Column(NamedTuple):
    """A heading, the markup of its cell in a row, and whether that is a number."""

    title: str
    cell: Callable[[Row], str]
    right: bool = True


def text(title: str, name: str) -> Column:
    return Column(title, lambda row: words(row[name]) or '<span class="none">none</span>', right=False)


def figure(title: str, name: str, spell: Callable[[Any], str] = number) -> Column:
    return Column(title, lambda row: NONE if row[name] is None else spell(row[name]))


def bar(title: str, name: str, most: float) -> Column:
    """Return a column of numbers with bars."""

    def cell(row: Row) -> str:
        share = 100 * row[name] / most if most else 0
        return f'{number(row[name])}<i class="bar" style="width:{share:.1f}%"></i>'

    return Column(title, cell)


def table(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """Return a table. Where the page is too narrow, it scrolls sideways, and its first column stays visible."""
    class_name = [("r" if column.right else None) for column in columns]
    head = tag("tr", *(tag("th", c.title, class_=kind) for c, kind in zip(columns, class_name, strict=True)))
    body = [
        tag("tr", *(tag("td", c.cell(row), class_=kind) for c, kind in zip(columns, class_name, strict=True)))
        for row in rows
    ]
    return wide(tag("table", tag("thead", head), tag("tbody", *body)))


_SENT = (
    figure("messages", "messages"),
    figure("mean rate", "rate_hz", lambda hz: f"{frequency(hz)}/s"),
    figure("data", "bytes", size),
    figure("speed", "bytes_per_s", speed),
    figure("size p50", "size_p50", size),
    figure("max", "size_max", size),
)


def _share(row: Row) -> str:
    if not row["lost"]:
        return "0"
    return f'<strong class="bad">{number(row["lost"])}</strong> ({100 * row["lost_share"]:.2g} %)'


def topics(found: Findings) -> str:
    columns = (
        text("topic", "topic"),
        *_SENT,
        Column("longest silence", _silence),
        figure("senders", "senders"),
        figure("types", "types"),
        figure("gaps", "gaps"),
        Column("lost", _share),
    )
    again = [words(row["topic"]) for row in found.topics if row["generations"] > 1]
    note = f"Removed and created again during the recording: {', '.join(again)}." if again else ""
    return section("Topics", note, table(columns, found.topics))


def _silence(row: Row) -> str:
    if row["interval_s_max"] is None:
        return NONE
    return f'<span title="from {moment(row["silent_from_ns"])}">{duration(row["interval_s_max"])}</span>'


def senders(found: Findings) -> str:
    columns = (
        *(text("topic", "topic"), text("sender", "sender"), *_SENT),
        *(figure("interval p50", "interval_s_p50", duration), figure("p99", "interval_s_p99", duration)),
        *(figure("delay p50", "delay_s_p50", duration), figure("p99", "delay_s_p99", duration)),
    )
    by_type = table((text("topic", "topic"), text("type", "type"), *_SENT), found.types)
    summary = tag(
        "summary", f"{counted(len(found.senders), 'sender')} and {counted(len(found.types), 'type')}"
    )
    content = (
        *(table(columns, found.senders), more(found.cut.get("senders", 0), "senders")),
        *(by_type, more(found.cut.get("types", 0), "types")),
    )
    return tag("section", tag("details", summary, *content))


def _outcomes(row: Row) -> str:
    parts = "".join(
        tag(
            "i",
            class_=name,
            style=f"width:{100 * row[name] / row['calls']:.2f}%",
            title=f"{row[name]:,} {name}",
        )
        for name in ("answered", "errors", "cancelled", "open")
        if row[name]
    )
    return f'<span class="outcomes">{parts}</span>'


def _shortly(time_ns: int, letters: int = 23) -> str:
    """Return a time without its zone, which the head of the page has."""
    return " ".join(tag("span", part, class_="nowrap") for part in moment(time_ns)[:letters].split(" "))


def _red(name: str) -> Column:
    def cell(row: Row) -> str:
        return f'<strong class="bad">{number(row[name])}</strong>' if row[name] else "0"

    return Column(name, cell)


def calls(found: Findings) -> str:
    if not found.calls and not found.malformed_calls:
        return ""
    columns = (
        *(text("service", "service"), text("method", "method"), figure("calls", "calls")),
        Column("outcome", _outcomes, right=False),
        *(_red("errors"), figure("given up", "cancelled"), figure("no answer", "open")),
        *(figure(name, f"seconds_{name}", duration) for name in ("p50", "p90", "p99", "max")),
    )
    failures = (
        *(text("service", "service"), text("method", "method"), text("reason", "reason")),
        *(text("error", "error"), figure("calls", "calls"), figure("last", "last_ns", _shortly)),
    )
    odd = sum(row["count"] for row in found.malformed_calls)
    note = (
        f" {counted(odd, 'message')} on topics with the names of calls could not be decoded as calls."
        if odd
        else ""
    )
    errors = table(failures, found.call_errors) if found.call_errors else ""
    explanation = (
        "Times are from the time stamp of the call to that of its answer, as the client and the server sent them."
        + note
    )
    return section("Calls", explanation, table(columns, found.calls), errors)


def gaps(found: Findings) -> str:
    """Return, for each topic, its totals and largest gaps; the others can be unfolded."""
    concerned = [row for row in found.topics if row["gaps"]]
    if not concerned:
        return section("Gaps", "None: every sequence between the first and the last of each topic is there.")
    known = by_topic(found.gaps)
    explanation = (
        "Sequences without a message. Lost: overwritten before the recorder read them. "
        "Abandoned: the writer was killed or aborted before it published, so nothing is missing."
    )
    parts = [_gaps_of(row, known.get(row["topic"], [])) for row in concerned]
    return section("Gaps", explanation, *parts, more(found.cut.get("gaps", 0), "gaps"), class_="gaps")


def _gaps_of(topic: Row, rows: list[Row]) -> str:
    totals = (
        counted(topic["gaps"], "gap"),
        tag("span", f"{number(topic['lost'])} lost", class_="bad" if topic["lost"] else None),
        f"{number(topic['abandoned'])} abandoned",
    )
    head = tag("h3", tag("b", words(topic["topic"])), tag("small", " · ".join(totals)))
    if not rows:  # all of them are among those that are not listed
        return head
    by_size = sorted(rows, key=lambda row: (-row["lost"], -row["abandoned"]))
    largest = by_size[:LARGEST] if len(rows) > LARGEST + 1 else by_size
    others = [row for row in rows if not any(row is one for one in largest)]
    rest = ""
    if others:
        summary = tag("summary", f"{number(len(others))} smaller gaps")
        rest = tag("details", summary, table(_GAP, others))
    return head + table(_GAP, sorted(largest, key=lambda row: row["at_ns"])) + rest


def _lasted(row: Row) -> str:
    if row["after_ns"] is None or row["before_ns"] is None:
        return NONE
    return duration(max(row["before_ns"] - row["after_ns"], 0) / 1e9)


_GAP = (
    Column("when", lambda row: _shortly(row["at_ns"]), right=False),
    figure("first sequence", "offset"),
    *(_red("lost"), figure("abandoned", "abandoned")),
    Column("no message for", _lasted),
)


def busiest(found: Findings) -> str:
    most = max((row["messages"] for row in found.busiest), default=0)
    columns = (
        Column("minute", lambda row: _shortly(row["minute_ns"], 16), right=False),
        bar("messages", "messages", most),
        figure("data", "bytes", size),
        text("busiest topic", "topic"),
        figure("messages there", "topic_messages"),
    )
    return section("Busiest minutes", "", table(columns, found.busiest))
