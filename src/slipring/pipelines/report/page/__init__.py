# SPDX-License-Identifier: Apache-2.0
"""The page: one HTML file with its drawings, style and script inside. It loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from slipring.units import counted, duration, moment, number, size

from ...html.markup import tag, words
from ..findings import Findings
from . import figures, lanes, ridges

__all__ = ["render"]


def render(found: Findings) -> str:
    """The page as text."""
    here = Path(__file__)
    style, script = (here.with_name(name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    content, data = _content(found)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        f'<link rel="icon" href="data:,"><title>{words(found.name)}: Slipring report</title>',
        f"<style>{style}</style>",
    )
    # "<" is the only character that could end a script early.
    packed = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    scripts = f'<script type="application/json" id="data">{packed}</script><script>{script}</script>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{"".join(head)}</head>'
        f"<body><main>{content}</main>{scripts}</body></html>\n"
    )


def _content(found: Findings) -> tuple[str, dict[str, object]]:
    top = tag("div", "Slipring report", tag("span", words(found.name)), class_="eyebrow")
    foot = tag(
        "footer",
        f"Computed by Spark, {moment(found.made_ns)}. Percentiles are accurate to 0.01 % of the ranks.",
    )
    if not found.totals["messages"] and not found.totals["gaps"]:
        nothing = tag("p", "Record something first: <code>slipring record TOPIC --to LAKE</code>")
        return top + tag("h1", "Nothing is recorded here.") + nothing + foot, {}
    traffic, data = lanes.draw(found)
    parts = (
        *(top, tag("h1", _headline(found)), tag("p", _subtitle(found)), _tiles(found), traffic),
        *(ridges.draw(found), figures.topics(found), figures.calls(found)),
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
    tiles = (
        tag("div", tag("b", fact, class_=look), tag("span", name), class_="tile")
        for fact, name, look in facts
    )
    return tag("div", *tiles, class_="tiles")
