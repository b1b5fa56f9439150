# SPDX-License-Identifier: Apache-2.0
"""Traffic over time: a lane for each topic, all on the same axis; losses are marked where they happened.

A lane is drawn in steps that are wide enough for several of the topic's messages. Narrower ones would show single
messages as peaks: a message a second, counted in steps of 50 ms, is 20 a second for 50 ms and then nothing.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from slipring.units import counted, frequency, number, size, speed

from ...html.markup import drawing, more, section, tag, words
from ..findings import STEPS, Findings, Row, busiest_topics, by_topic

_HEIGHT = 100.0
_TICKS = 7
_NICE_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)
_NARROWEST = 0.006  # of a mark, as a share of the width
_MESSAGES = 8  # in a step of a lane, if they come regularly


class Axis(NamedTuple):
    """The time of the recording, in the steps that the findings count in. The last one may be a part of a step."""

    begin_ns: int
    width_ns: int
    length: float  # in steps; at least 1

    @classmethod
    def of(cls, found: Findings) -> Axis:
        width_ns = round(found.rate_step_s * 1e9)
        first, last = found.totals["first_ns"] or 0, found.totals["last_ns"] or 0
        return cls(first, width_ns, min(max((last - first) / width_ns, 1.0), 4.0 * STEPS))

    @property
    def step_s(self) -> float:
        return self.width_ns / 1e9

    def place(self, time_ns: int) -> int:
        """The step that a time is in."""
        return min(max((time_ns - self.begin_ns) // self.width_ns, 0), math.ceil(self.length) - 1)

    def bounds(self, width_s: float) -> list[float]:
        """Where the steps of a lane begin, and the end of the last: as many whole ones as have about that width."""
        whole = max(1, round(self.length))  # a last step that is less than half of one joins the one before
        count = min(whole, max(1, int(whole * self.step_s / width_s))) if width_s else whole
        return [float(round(at * whole / count)) for at in range(count)] + [self.length]


def width_s(row: Row, axis: Axis) -> float:
    """How wide a topic's steps have to be: regular messages are not to look like a comb, a burst like a trickle."""
    if row["messages"] < 2:
        return 0.0
    middle_s, long_s = row["interval_s_p50"], row["interval_s_p90"]
    if middle_s is None:  # none of them follows another without a gap
        middle_s = long_s = axis.length * axis.step_s / row["messages"]
    return float(max(_MESSAGES * middle_s, _MESSAGES / 2 * long_s))


def series(rows: Sequence[Row], name: str, axis: Axis, bounds: Sequence[float]) -> list[int]:
    """The amount in each step of a lane."""
    amounts = [0] * (len(bounds) - 1)
    for row in rows:
        step = bisect_right(bounds, axis.place(row["time_ns"])) - 1
        amounts[min(step, len(amounts) - 1)] += row[name]
    return amounts


def _area(rates: Sequence[float], bounds: Sequence[float], look: str) -> str:
    most = max(rates, default=0) or 1
    path = [f"M0 {_HEIGHT:g}"]
    for (begin, end), rate in zip(pairwise(bounds), rates, strict=True):
        top = _HEIGHT - (_HEIGHT - 6) * rate / most
        path.append(f"L{begin:.4g} {top:.1f}L{end:.4g} {top:.1f}")
    path.append(f"L{bounds[-1]:.4g} {_HEIGHT:g}Z")
    return tag("path", d="".join(path), class_=f"area {look}")


def _losses(rows: Sequence[Row], axis: Axis) -> str:
    width = max(1.0, axis.length * _NARROWEST)
    marks = []
    for row in rows:
        if row["lost"]:
            hint = tag("title", f"{number(row['lost'])} lost")
            place = min(float(axis.place(row["time_ns"])), axis.length - width)
            marks.append(tag("rect", hint, x=place, y=0, width=width, height=_HEIGHT, class_="lost"))
    return "".join(marks)


def _figure(
    mean: float | None, rates: Sequence[float], spell: Callable[[float], str], total: str, look: str
) -> str:
    """The mean rate of the whole topic, as in the table; below it the highest of a step, if there are several."""
    if mean is None:
        return tag("span", total, class_=look)
    peak = tag("small", f"peak {spell(max(rates))}") if len(rates) > 1 else ""
    return tag("span", spell(mean), peak, class_=look)


def _hz(rate: float) -> str:
    return f"{frequency(rate)}/s"


def _lane(row: Row, steps: Sequence[Row], axis: Axis, at: int) -> tuple[str, dict[str, Any]]:
    bounds = axis.bounds(width_s(row, axis))
    lengths_s = [(end - begin) * axis.step_s for begin, end in pairwise(bounds)]
    amounts = {name: series(steps, name, axis, bounds) for name in ("messages", "bytes", "lost")}
    rates = {
        name: [amount / length_s for amount, length_s in zip(amounts[name], lengths_s, strict=True)]
        for name in ("messages", "bytes")
    }
    plot = drawing(
        axis.length,
        _HEIGHT,
        f"{words(row['topic'])} over time",
        _area(rates["messages"], bounds, "by-messages"),
        _area(rates["bytes"], bounds, "by-bytes"),
        _losses(steps, axis),
    )
    lost = tag("em", f"{number(row['lost'])} lost") if row["lost"] else ""
    lane = tag(
        "div",
        tag("div", tag("b", words(row["topic"])), lost, class_="name"),
        tag("div", plot, class_="plot"),
        tag(
            "div",
            _figure(
                row["rate_hz"], rates["messages"], _hz, counted(row["messages"], "message"), "by-messages"
            ),
            _figure(row["bytes_per_s"], rates["bytes"], speed, size(row["bytes"]), "by-bytes"),
            class_="figure",
        ),
        class_=f"lane c{at % 8}",
        data_lane=at,
    )
    told: dict[str, list[float]] = {name: [float(f"{rate:.4g}") for rate in rates[name]] for name in rates}
    return lane, {"bounds": bounds, "lost": amounts["lost"], **told}


def clock(time_ns: int, span_s: float) -> str:
    """A tick of the axis: as fine as the span needs it."""
    stamp = datetime.datetime.fromtimestamp(time_ns / 1e9).astimezone()
    if span_s >= 2 * 86_400:
        return stamp.strftime("%d %b %H:%M")
    return stamp.strftime("%H:%M" if span_s >= 1800 else "%H:%M:%S" if span_s >= 8 else "%H:%M:%S.%f")[:12]


def tick_s(span_s: float) -> float:
    """The time between two ticks: a round one, and at least two ticks are on the axis."""
    raw = span_s / _TICKS
    if raw < 1:
        power = 10.0 ** math.floor(math.log10(raw))
        return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.9999)
    return float(next((step for step in _NICE_S if step >= raw), math.ceil(raw / 86_400) * 86_400))


def _ticks(axis: Axis) -> str:
    length_ns = axis.length * axis.width_ns
    step_ns = max(1, round(tick_s(length_ns / 1e9) * 1e9))
    places = range(-(-axis.begin_ns // step_ns) * step_ns, axis.begin_ns + int(0.96 * length_ns) + 1, step_ns)
    # On a narrow screen every second one is left out, if two are left then.
    looks = ["second" if at % 2 and len(places) > 3 else None for at in range(len(places))]
    marks = [
        tag(
            "i",
            clock(place, length_ns / 1e9),
            style=f"left:{100 * (place - axis.begin_ns) / length_ns:.2f}%",
            class_=look,
        )
        for place, look in zip(places, looks, strict=True)
    ]
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
        lane, shown = _lane(row, rates.get(row["topic"], []), axis, at)
        lanes.append(lane)
        data.append(shown)
    switch = "".join(
        tag("label", f'<input type="radio" name="by" id="by-{name}"{chosen}>', f"{name} per second")
        for name, chosen in (("messages", " checked"), ("bytes", ""))
    )
    made = section(
        "Traffic over time",
        "Each topic has its own height, from zero to its peak. The figure is the mean rate between its first and its "
        "last message. Red marks lost messages.",
        tag("div", switch, tag("output", "", class_="now"), class_="switch"),
        tag("div", *lanes, _ticks(axis), tag("div", class_="cross"), class_="lanes"),
        more(len(found.topics) - len(lanes), "topics"),
        class_="traffic",
    )
    about = {"begin_ms": axis.begin_ns / 1e6, "step_ms": axis.width_ns / 1e6, "length": axis.length}
    return made, {**about, "lanes": data}
