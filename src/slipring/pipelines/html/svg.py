# SPDX-License-Identifier: Apache-2.0
"""Drawings with texts as SVG: scales, axes, lines. Their colours are classes of the style sheet, also in the dark."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from .markup import tag

Point = tuple[float, float]
_NARROW = 600.0


def text(x: float, y: float, words: str, class_: str = "label", anchor: str = "start") -> str:
    return tag("text", escape(words), x=x, y=y, class_=class_, text_anchor=anchor)


def hint(words: str) -> str:
    """Return the text that appears while the pointer is on the parent element."""
    return tag("title", escape(words))


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Iterable[Point], class_: str, closed: bool = False) -> str:
    steps = [f"{x:.1f} {y:.1f}" for x, y in points]
    return tag("path", d="M" + "L".join(steps) + ("Z" if closed else ""), class_=class_) if steps else ""


def chart(width: float, height: float, title: str, *content: str) -> str:
    """Return an SVG that keeps its shape. On a phone a wide one scrolls, and a narrow one shrinks a little."""
    least = width * (0.7 if width > _NARROW else 0.6)
    return tag(
        "svg",
        *content,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=title,
        class_="chart",
        style=f"min-width:{least:.0f}px",
    )


@dataclass(frozen=True)
class Scale:
    """Maps values between low and high onto a length from begin to end, linearly or by their logarithm."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log10(max(value, low)), math.log10(low), math.log10(high)
        return self.begin + (value - low) / ((high - low) or 1.0) * (self.end - self.begin)


def round_up(value: float) -> float:
    """Return the next round number that is not below value: 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10 …"""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        factor * power for factor in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if factor * power >= value * 0.9999
    )


def seconds_axis(x: Scale, top: float, bottom: float) -> str:
    """Return grid lines of a plot over time, with seconds below."""
    step = round_up((x.high - x.low) / 10)
    parts = []
    for index in range(int(x.high / step) + 1):
        at = x(index * step)
        parts.append(line(at, top, at, bottom, "grid"))
        parts.append(text(at, bottom + 16, f"{index * step:g} s", "tick", "middle"))
    return "".join(parts)
