# SPDX-License-Identifier: Apache-2.0
"""The page of a report, with its drawings, style and script in one file.

In reading order: render, the parts from top to bottom; traffic_over_time, distributions, figures and field_tables.
"""

from __future__ import annotations

from pathlib import Path

from slipring.units import counted, duration, moment, number, size

from ...html.document import document
from ...html.markup import eyebrow, tag, tiles, words
from ..findings import Findings
from . import distributions, field_tables, figures, traffic_over_time

__all__ = ["render"]


def render(found: Findings) -> str:
    """Return the page as text."""
    here = Path(__file__)
    content, data = _content(found)
    return document(
        f"{found.name}: Slipring report",
        content,
        styles=[here.with_name("style.css")],
        script=here.with_name("script.js").read_text(encoding="utf-8"),
        data=data,
    )


def _content(found: Findings) -> tuple[str, dict[str, object]]:
    top = eyebrow(f"Slipring report {tag('b', words(found.name))}")
    foot = tag(
        "footer",
        f"Computed by Spark, {moment(found.made_ns)}. Percentiles are accurate to 0.01 % of the ranks.",
    )
    if not found.totals["messages"] and not found.totals["gaps"]:
        nothing = tag("p", "Record something first: <code>slipring record TOPIC --to LAKE</code>")
        return top + tag("h1", "Nothing is recorded here.") + nothing + foot, {}
    traffic, data = traffic_over_time.draw(found)
    parts = (
        *(top, tag("h1", _headline(found)), tag("p", _subtitle(found)), _tiles(found), traffic),
        *(distributions.draw(found), figures.topics(found), field_tables.draw(found)),
        figures.calls(found),
        *(figures.gaps(found), figures.busiest(found), figures.senders(found), foot),
    )
    return "".join(parts), data


def _headline(found: Findings) -> str:
    totals = found.totals
    lost = totals["lost"]
    end = f"<em>{counted(lost, 'message')} lost.</em>" if lost else "Nothing lost."
    return f"{counted(totals['messages'], 'message')} in {duration(totals['seconds'])}. {end}"


def _subtitle(found: Findings) -> str:
    first, last = found.totals["first_ns"], found.totals["last_ns"]
    return "No message was recorded, only gaps." if first is None else f"{moment(first)} to {moment(last)}"


def _tiles(found: Findings) -> str:
    totals = found.totals
    silence = max(found.topics, key=lambda row: row["interval_s_max"] or 0)
    delay = max(found.topics, key=lambda row: row["delay_s_p99"] or 0)
    facts = [
        (number(totals["topics"]), "topics" if totals["topics"] != 1 else "topic", ""),
        (size(totals["bytes"]), "of bodies", ""),
        (
            number(totals["lost"]),
            f"lost, in {counted(totals['gaps'], 'gap')}",
            "bad" if totals["lost"] else "good",
        ),
    ]
    if delay["delay_s_p99"] is not None:
        facts.append(
            (duration(delay["delay_s_p99"]), f"worst p99 until recorded: {words(delay['topic'])}", "")
        )
    if silence["interval_s_max"] is not None:
        facts.append((duration(silence["interval_s_max"]), f"longest silence: {words(silence['topic'])}", ""))
    if totals["calls"]:
        errors = totals["errors"]
        facts.append(
            (number(errors), f"errors of {counted(totals['calls'], 'call')}", "bad" if errors else "good")
        )
    return tiles(facts)
