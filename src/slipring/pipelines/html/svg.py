# SPDX-License-Identifier: Apache-2.0
"""SVG as text: elements, scales and axes. Colours come from style.css by class: dark mode redraws nothing."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

Point = tuple[float, float]
_NARROW = 600.0


def tag(name: str, *content: str, **attributes: object) -> str:
    """An element; `class_` and `stroke_width` become class and stroke-width. Content is markup."""
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(content)
    return f"<{name}{words}>{inner}</{name}>" if inner else f"<{name}{words}/>"


def _number(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def text(x: float, y: float, words: str, class_: str = "label", anchor: str = "start") -> str:
    return tag("text", escape(words), x=x, y=y, class_=class_, text_anchor=anchor)


def hint(words: str) -> str:
    """What a mouse resting on the parent element shows."""
    return tag("title", escape(words))


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Iterable[Point], class_: str, closed: bool = False) -> str:
    steps = [f"{x:.1f} {y:.1f}" for x, y in points]
    return tag("path", d="M" + "L".join(steps) + ("Z" if closed else ""), class_=class_) if steps else ""


def drawing(width: float, height: float, title: str, *content: str) -> str:
    """On a phone a wide one is scrolled and a narrow one is made smaller, so that texts can be read."""
    least = width * (0.7 if width > _NARROW else 0.6)
    return tag(
        "svg",
        *content,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=title,
        style=f"min-width:{least:.0f}px",
    )


@dataclass(frozen=True)
class Scale:
    """Values between low and high, on a length from begin to end; logarithmic if asked."""

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
    """The next round number that is not below value: 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10 …"""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        factor * power for factor in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if factor * power >= value * 0.9999
    )


def seconds_axis(x: Scale, top: float, bottom: float) -> str:
    """Hairlines down a plot over time, with seconds below."""
    step = round_up((x.high - x.low) / 10)
    parts = []
    for index in range(int(x.high / step) + 1):
        place = x(index * step)
        parts.append(line(place, top, place, bottom, "grid"))
        parts.append(text(place, bottom + 16, f"{index * step:g} s", "tick", "middle"))
    return "".join(parts)
