# SPDX-License-Identifier: Apache-2.0
"""Distributions: a row for each topic on one logarithmic scale, with lines at p50 and p99."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from slipring.units import duration, size, speed

from ...html.markup import drawing, section, tag, words
from ..findings import Findings, Row, busiest_topics, by_topic
from ..timing import PER_DECADE

_HEIGHT = 100.0
_TICKS = 3  # and one at the end
_MOST_LEFT = 58.0  # per cent: a tick further right would overlap the last one


class Measure(NamedTuple):
    """A measured quantity: its name and columns in the findings, and how it is written."""

    name: str
    column: str
    unit: float  # of the steps, in the unit of the column
    title: str
    explanation: str
    spell: Callable[[float], str]
    tick: Callable[[float], str]  # the same for powers of ten


def _decimal(count: float) -> str:
    return speed(count).removesuffix("/s")


MEASURES = (
    Measure("size", "size", 1.0, "Sizes", "Of bodies, in bytes.", size, _decimal),
    Measure(
        "interval",
        "interval_s",
        1e9,
        "Time between messages",
        "By time stamp; not around a gap.",
        duration,
        duration,
    ),
    Measure(
        "delay",
        "delay_s",
        1e9,
        "From publishing to recording",
        "The recorder reads in batches: subscribers receive much sooner.",
        duration,
        duration,
    ),
)


class Scale(NamedTuple):
    """Whole decades, as steps."""

    low: int
    high: int

    @classmethod
    def around(cls, rows: list[Row]) -> Scale:
        steps = [max(row["step"], 0) for row in rows] or [0]
        low = math.floor(min(steps) / PER_DECADE) * PER_DECADE
        return cls(low, max(math.floor(max(steps) / PER_DECADE) * PER_DECADE, low) + PER_DECADE)

    def position(self, value: float) -> float:
        """Return the position of a value, in steps from the left end."""
        step = PER_DECADE * math.log10(max(value, 1e-9))
        return min(max(step - self.low, 0.0), float(self.high - self.low))


def _bars(rows: list[Row], scale: Scale) -> str:
    most = max(row["messages"] for row in rows)
    bars = []
    for row in rows:
        height = max(3.0, (_HEIGHT - 4) * row["messages"] / most)
        bars.append(
            tag(
                "rect",
                tag("title", f"{row['messages']:,} messages"),
                x=max(row["step"] - scale.low, 0) + 0.06,
                y=_HEIGHT - height,
                width=0.88,
                height=height,
            )
        )
    return "".join(bars)


def _cell(rows: list[Row], figures: Row | None, measure: Measure, scale: Scale) -> str:
    if not rows or figures is None:
        return tag("div", tag("div", class_="plot"), tag("div", class_="figure"), class_="cell")
    middle, high = (figures[f"{measure.column}_{name}"] or 0.0 for name in ("p50", "p99"))
    positions = {"p50": scale.position(middle * measure.unit), "p99": scale.position(high * measure.unit)}
    marks = [
        tag("line", x1=position, x2=position, y1=0, y2=_HEIGHT, class_=name)
        for name, position in positions.items()
    ]
    plot = drawing(scale.high - scale.low, _HEIGHT, measure.title, _bars(rows, scale), *marks)
    figure = tag("span", measure.spell(middle)), tag("small", measure.spell(high))
    return tag("div", tag("div", plot, class_="plot"), tag("div", *figure, class_="figure"), class_="cell")


def _ticks(scale: Scale, measure: Measure) -> str:
    """Return ticks at powers of ten, with the first and the last of the scale: a single tick shows no scale."""
    decades = range(scale.low // PER_DECADE, scale.high // PER_DECADE + 1)
    every = math.ceil((len(decades) - 1) / _TICKS)
    marks = []
    for decade in decades[::every]:
        share = 100 * (decade * PER_DECADE - scale.low) / (scale.high - scale.low)
        if share <= _MOST_LEFT:
            marks.append(tag("i", measure.tick(10.0**decade / measure.unit), style=f"left:{share:.2f}%"))
    marks.append(tag("i", measure.tick(10.0 ** decades[-1] / measure.unit), class_="last"))
    head = tag("div", tag("span", "p50"), tag("small", "p99"), class_="figure")
    return tag("div", tag("div", *marks, class_="axis"), head, class_="cell")


def draw(found: Findings) -> str:
    """Return the section: a row for each topic, a column for each measure."""
    drawn = busiest_topics(found.topics)
    figures = {row["topic"]: row for row in found.topics}
    heads, ticks = [], []
    cells: dict[str, list[str]] = {topic: [] for topic in drawn}
    for measure in MEASURES:
        rows = [row for row in found.distributions if row["measure"] == measure.name]
        scale, steps = Scale.around(rows), by_topic(rows)
        heads.append(tag("div", tag("b", measure.title), measure.explanation, class_="head"))
        ticks.append(_ticks(scale, measure))
        for topic in drawn:
            cells[topic].append(_cell(steps.get(topic, []), figures.get(topic), measure, scale))
    name = tag("div", class_="name")
    lines = [
        tag("div", tag("div", tag("b", words(topic)), class_="name"), *row, class_=f"row c{at % 8}")
        for at, (topic, row) in enumerate(cells.items())
    ]
    return section(
        "Distributions",
        "On logarithmic scales. The line in each is p50, the dashed one p99.",
        tag("div", name, *heads, class_="row heads"),
        *lines,
        tag("div", name, *ticks, class_="row ticks"),
        class_="distributions",
    )
