# SPDX-License-Identifier: Apache-2.0
"""The page's tables of numeric fields, one for each typed topic."""

from __future__ import annotations

from slipring.units import counted, quantity

from ...html.markup import section, tag, words
from ..fields import QUANTILES
from ..findings import Findings, Row, by_topic
from .figures import Column, figure, table, text

SHOWN = 16  # fields of a topic that are shown at once
NAMED = 12  # fields that are left out

_COLUMNS = (
    text("field", "field"),
    text("type", "type"),
    figure("minimum", "minimum", quantity),
    *(figure(f"p{percent}", f"p{percent}", quantity) for percent in QUANTILES),
    figure("maximum", "maximum", quantity),
    figure("values", "values"),
    Column("NaN", lambda row: _marked(row["nan"])),
    Column("NULL", lambda row: _marked(row["null"])),
)


def draw(found: Findings) -> str:
    """Return the section, or nothing for a recording without typed topics."""
    known, bad = by_topic(found.fields), {row["topic"]: row for row in found.undecodable}
    topics = sorted({*known, *bad, *found.fields_left_out, *found.fields_unread})
    if not topics:
        return ""
    explanation = (
        "Numeric fields of typed topics. Quantiles are approximate, accurate to 0.01 % of the ranks. <code>a[]</code> "
        "are all items of a list together."
    )
    parts = [_of_topic(found, topic, known.get(topic, []), bad.get(topic)) for topic in topics]
    return section("Fields", explanation, *parts, class_="fields")


def _marked(count: int) -> str:
    return f"<strong>{count:,}</strong>" if count else "0"


def _of_topic(found: Findings, topic: str, rows: list[Row], bad: Row | None) -> str:
    count = "fields not known" if topic in found.fields_unread else counted(len(rows), "field")
    head = tag("h3", tag("b", words(topic)), tag("small", count))
    notes = []
    if bad is not None:
        what = tag("strong", counted(bad["messages"], "undecodable message"), class_="bad")
        notes.append(f"{what}, which no figure includes. The first is {words(bad['first'])}")
    if topic in found.fields_unread:
        notes.append(words(found.fields_unread[topic]))
    left_out = found.fields_left_out.get(topic, [])
    if left_out:
        names = ", ".join(words(name) for name in left_out[:NAMED])
        dots = ", …" if len(left_out) > NAMED else ""
        notes.append(f"{counted(len(left_out), 'more field')} not computed: {names}{dots}")
    content = table(_COLUMNS, rows) if rows else ""
    if len(rows) > SHOWN:
        content = tag("details", tag("summary", f"All {counted(len(rows), 'field')}"), content)
    return head + "".join(tag("p", note, class_="note") for note in notes) + content
