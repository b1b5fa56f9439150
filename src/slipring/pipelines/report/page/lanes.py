# SPDX-License-Identifier: Apache-2.0
"""Traffic over time: a lane for each topic, all on the same axis; what was lost is marked where it was."""

from __future__ import annotations

import datetime
import math
from typing import Any, NamedTuple

from slipring.units import frequency, number, speed

from ..findings import STEPS, Findings, Row, busiest_topics, by_topic
from .markup import drawing, more, section, tag, words

_HEIGHT = 100.0
_TICKS = 6
_NARROWEST = 0.006  # of a mark, as a share of the width


class Axis(NamedTuple):
    """Steps of equal length from ``begin_ns`` on."""

    begin_ns: int
    width_ns: int
    steps: int

    @classmethod
    def of(cls, found: Findings) -> Axis:
        width_ns = round(found.rate_step_s * 1e9)
        first, last = found.totals["first_ns"] or 0, found.totals["last_ns"] or 0
        begin = first - first % width_ns
        return cls(begin, width_ns, min((last - begin) // width_ns + 1, 4 * STEPS))

    def place(self, time_ns: int) -> int:
        return min(max((time_ns - self.begin_ns) // self.width_ns, 0), self.steps - 1)


def series(rows: list[Row], name: str, axis: Axis) -> list[int]:
    """The amount in each step of the axis."""
    amounts = [0] * axis.steps
    for row in rows:
        amounts[axis.place(row["time_ns"])] += row[name]
    return amounts


def _area(amounts: list[int], look: str) -> str:
    most = max(amounts, default=0) or 1
    path = [f"M0 {_HEIGHT:g}"]
    for step, amount in enumerate(amounts):
        top = _HEIGHT - (_HEIGHT - 6) * amount / most
        path.append(f"L{step} {top:.1f}L{step + 1} {top:.1f}")
    path.append(f"L{len(amounts)} {_HEIGHT:g}Z")
    return tag("path", d="".join(path), class_=f"area {look}")


def _losses(lost: list[int], axis: Axis) -> str:
    width = max(1.0, axis.steps * _NARROWEST)
    marks = []
    for step, count in enumerate(lost):
        if count:
            hint = tag("title", f"{number(count)} lost")
            marks.append(tag("rect", hint, x=float(step), y=0, width=width, height=_HEIGHT, class_="lost"))
    return "".join(marks)


def _lane(row: Row, rates: list[Row], axis: Axis, at: int) -> tuple[str, dict[str, Any]]:
    amounts = {name: series(rates, name, axis) for name in ("messages", "bytes", "lost")}
    seconds = axis.width_ns / 1e9
    plot = drawing(
        axis.steps,
        _HEIGHT,
        f"{words(row['topic'])} over time",
        _area(amounts["messages"], "by-messages"),
        _area(amounts["bytes"], "by-bytes"),
        _losses(amounts["lost"], axis),
    )
    lost = tag("em", f"{number(row['lost'])} lost") if row["lost"] else ""
    peaks = (
        tag("span", f"{frequency(max(amounts['messages']) / seconds)}/s", class_="by-messages"),
        tag("span", speed(max(amounts["bytes"]) / seconds), class_="by-bytes"),
    )
    lane = tag(
        "div",
        tag("div", tag("b", words(row["topic"])), lost, class_="name"),
        tag("div", plot, class_="plot"),
        tag("div", *peaks, class_="figure"),
        class_=f"lane c{at % 8}",
        data_lane=at,
    )
    return lane, amounts


def clock(time_ns: int, span_s: float) -> str:
    """A tick of the axis: as fine as the span needs it."""
    stamp = datetime.datetime.fromtimestamp(time_ns / 1e9).astimezone()
    if span_s >= 2 * 86_400:
        return stamp.strftime("%d %b %H:%M")
    return stamp.strftime("%H:%M" if span_s >= 1800 else "%H:%M:%S" if span_s >= 8 else "%H:%M:%S.%f")[:12]


def _ticks(axis: Axis) -> str:
    span_s = axis.steps * axis.width_ns / 1e9
    raw = span_s / _TICKS
    power = 10.0 ** math.floor(math.log10(raw)) if raw < 1 else 1.0
    nice = (
        (1, 2, 5, 10)
        if raw < 1
        else (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 86_400)
    )
    step_s = next(
        (factor * power for factor in nice if factor * power >= raw), math.ceil(raw / 86_400) * 86_400
    )
    step_ns = round(step_s * 1e9)
    first = -(-axis.begin_ns // step_ns) * step_ns
    marks, place = [], first
    while place <= axis.begin_ns + axis.steps * axis.width_ns:
        share = 100 * (place - axis.begin_ns) / (axis.steps * axis.width_ns)
        if share <= 96:
            marks.append(tag("i", clock(place, span_s), style=f"left:{share:.2f}%"))
        place += step_ns
    return tag(
        "div",
        tag("div", class_="name"),
        tag("div", *marks, class_="axis"),
        tag("div", class_="figure"),
        class_="lane ticks",
    )


def draw(found: Findings) -> tuple[str, dict[str, Any]]:
    """The section, and the data its script shows under the pointer."""
    axis, rates = Axis.of(found), by_topic(found.rates)
    drawn = set(busiest_topics(found.topics))
    lanes, data = [], []
    for at, row in enumerate(row for row in found.topics if row["topic"] in drawn):
        lane, amounts = _lane(row, rates.get(row["topic"], []), axis, at)
        lanes.append(lane)
        data.append(amounts)
    switch = "".join(
        tag("label", f'<input type="radio" name="by" id="by-{name}"{chosen}>', f"{name} a second")
        for name, chosen in (("messages", " checked"), ("bytes", ""))
    )
    made = section(
        "Traffic over time",
        f"Each lane has its own height: the figure is its peak, in steps of {axis.width_ns / 1e9:g} s. "
        "Red is where messages were lost.",
        tag("div", switch, tag("output", "", class_="now"), class_="switch"),
        tag("div", *lanes, _ticks(axis), tag("div", class_="cross"), class_="lanes"),
        more(len(found.topics) - len(lanes), "topics"),
        class_="traffic",
    )
    return made, {"begin_ms": axis.begin_ns / 1e6, "step_ms": axis.width_ns / 1e6, "lanes": data}
