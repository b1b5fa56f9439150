# SPDX-License-Identifier: Apache-2.0
"""HTML and SVG as text. What comes from a recording goes through ``words``: names there can be anything."""

from __future__ import annotations

from html import escape

from slipring.units import printable

LONGEST = 200


def words(text: object) -> str:
    """Text from a recording: nothing in it is markup, nothing is invisible, and it has an end."""
    shown = printable(str(text))
    return escape(shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…")


def tag(name: str, *content: str, **attributes: object) -> str:
    """An element; ``class_`` and ``data_step`` become class and data-step. Content is markup."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{''.join(content)}</{name}>"


def _text(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def section(title: str, explanation: str, *content: str, **attributes: object) -> str:
    """A card with its heading."""
    return tag("section", tag("h2", title), tag("p", explanation), *content, **attributes)


def drawing(width: float, height: float, title: str, *content: str) -> str:
    """An SVG that is stretched to its place; text does not belong into it."""
    return tag(
        "svg",
        tag("title", title),
        *content,
        viewBox=f"0 0 {width:g} {height:g}",
        preserveAspectRatio="none",
        role="img",
    )


def more(count: int, noun: str) -> str:
    """What is not shown."""
    return (
        tag(
            "p",
            f"… and {count:,} more {noun}: see --format json, or the tables in a notebook.",
            class_="more",
        )
        if count
        else ""
    )
