# SPDX-License-Identifier: Apache-2.0
"""Elements of HTML and SVG as text. Text from a recording is escaped with ``words``: names there can be anything."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from slipring.units import printable

LONGEST = 200


def words(text: object) -> str:
    """Escape text from a recording: without markup, without invisible characters, of limited length."""
    shown = printable(str(text))
    return escape(shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…")


def tag(name: str, *content: str, **attributes: object) -> str:
    """Return an element; ``class_`` and ``data_step`` become class and data-step. Content is markup."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{''.join(content)}</{name}>"


def _text(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def section(title: str, explanation: str, *content: str, **attributes: object) -> str:
    """Return a card with its heading."""
    below = tag("p", explanation) if explanation else ""
    return tag("section", tag("h2", title), below, *content, **attributes)


def tiles(facts: Iterable[tuple[str, str, str]]) -> str:
    """Return a row of large figures: (figure, its name, its class)."""
    found = (
        tag("div", tag("b", figure, class_=class_name or None), tag("span", name), class_="tile")
        for figure, name, class_name in facts
    )
    return tag("div", *found, class_="tiles")


def wide(*content: str) -> str:
    """Return a box that scrolls sideways where the page is too narrow."""
    return tag("div", *content, class_="wide")


def eyebrow(name: str, verdict: str | None = None) -> str:
    """Return the line above the headline; a verdict is PASS or FAIL."""
    mark = tag("span", verdict, class_=f"verdict {verdict.lower()}") if verdict else ""
    return tag("div", mark, name, class_="eyebrow")


def audit(claims: Iterable[tuple[str, bool, str]]) -> str:
    """Return a table of claims: (title, whether it holds, detail)."""
    rows = []
    for title, passed, detail in claims:
        word, class_name = ("✓ PASS", "pass") if passed else ("✕ FAIL", "fail")
        rows.append(
            tag(
                "tr",
                tag("td", tag("span", word, class_=class_name), class_="mark"),
                tag("td", escape(title), class_="claim"),
                tag("td", escape(detail) or " ", class_="detail"),
            )
        )
    return wide(tag("table", *rows, class_="audit"))


def drawing(width: float, height: float, title: str, *content: str) -> str:
    """Return an SVG that is stretched to its place; it must not contain text."""
    return tag(
        "svg",
        tag("title", title),
        *content,
        viewBox=f"0 0 {width:g} {height:g}",
        preserveAspectRatio="none",
        role="img",
    )


def more(count: int, noun: str) -> str:
    """Return a note on rows that are not shown."""
    return (
        tag(
            "p",
            f"… and {count:,} more {noun}: see --format json, or the tables in a notebook.",
            class_="more",
        )
        if count
        else ""
    )
