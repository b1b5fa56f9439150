# SPDX-License-Identifier: Apache-2.0
"""Traffic over time: a track for each topic on one axis, with marks where messages were lost.

The steps of a track are wide enough for several messages of its topic. Narrower steps would show single messages as
peaks: one message a second, counted in steps of 50 ms, is a rate of 20 for 50 ms, and then nothing.
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
_MESSAGES = 8  # in a step of a track with regular messages


class Axis(NamedTuple):
    """The time of the recording, in the steps of the findings. The last one may be a part of a step."""

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

    def position(self, time_ns: int) -> int:
        """Return the step of a time."""
        return min(max((time_ns - self.begin_ns) // self.width_ns, 0), math.ceil(self.length) - 1)

    def bounds(self, width_s: float) -> list[float]:
        """Return where the steps of a track begin, and the end of the last: whole steps of about that width."""
        whole = max(1, round(self.length))  # a last step that is less than half of one joins the one before
        count = min(whole, max(1, int(whole * self.step_s / width_s))) if width_s else whole
        return [float(round(at * whole / count)) for at in range(count)] + [self.length]


def width_s(row: Row, axis: Axis) -> float:
    """Return the width of a topic's steps: regular messages must not appear as a comb, nor a burst as a trickle."""
    if row["messages"] < 2:
        return 0.0
    middle_s, long_s = row["interval_s_p50"], row["interval_s_p90"]
    if middle_s is None:  # none of them follows another without a gap
        middle_s = long_s = axis.length * axis.step_s / row["messages"]
    return float(max(_MESSAGES * middle_s, _MESSAGES / 2 * long_s))


def series(rows: Sequence[Row], name: str, axis: Axis, bounds: Sequence[float]) -> list[int]:
    """Return the amount in each step of a track."""
    amounts = [0] * (len(bounds) - 1)
    for row in rows:
        step = bisect_right(bounds, axis.position(row["time_ns"])) - 1
        amounts[min(step, len(amounts) - 1)] += row[name]
    return amounts


def _area(rates: Sequence[float], bounds: Sequence[float], class_name: str) -> str:
    most = max(rates, default=0) or 1
    path = [f"M0 {_HEIGHT:g}"]
    for (begin, end), rate in zip(pairwise(bounds), rates, strict=True):
        top = _HEIGHT - (_HEIGHT - 6) * rate / most
        path.append(f"L{begin:.4g} {top:.1f}L{end:.4g} {top:.1f}")
    path.append(f"L{bounds[-1]:.4g} {_HEIGHT:g}Z")
    return tag("path", d="".join(path), class_=f"area {class_name}")


def _losses(rows: Sequence[Row], axis: Axis) -> str:
    width = max(1.0, axis.length * _NARROWEST)
    marks = []
    for row in rows:
        if row["lost"]:
            hint = tag("title", f"{number(row['lost'])} lost")
            position = min(float(axis.position(row["time_ns"])), axis.length - width)
            marks.append(tag("rect", hint, x=position, y=0, width=width, height=_HEIGHT, class_="lost"))
    return "".join(marks)


def _figure(
    mean: float | None, rates: Sequence[float], spell: Callable[[float], str], total: str, class_name: str
) -> str:
    """Return the mean rate of the topic, as in the table, and the highest rate of a step, if there are several."""
    if mean is None:
        return tag("span", total, class_=class_name)
    peak = tag("small", f"peak {spell(max(rates))}") if len(rates) > 1 else ""
    return tag("span", spell(mean), peak, class_=class_name)


def _hz(rate: float) -> str:
    return f"{frequency(rate)}/s"


def _track(row: Row, steps: Sequence[Row], axis: Axis, at: int) -> tuple[str, dict[str, Any]]:
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
    track = tag(
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
        class_=f"track c{at % 8}",
        data_track=at,
    )
    shown: dict[str, list[float]] = {name: [float(f"{rate:.4g}") for rate in rates[name]] for name in rates}
    return track, {"bounds": bounds, "lost": amounts["lost"], **shown}


def clock(time_ns: int, span_s: float) -> str:
    """Return the text of a tick, as fine as the span requires."""
    stamp = datetime.datetime.fromtimestamp(time_ns / 1e9).astimezone()
    if span_s >= 2 * 86_400:
        return stamp.strftime("%d %b %H:%M")
    return stamp.strftime("%H:%M" if span_s >= 1800 else "%H:%M:%S" if span_s >= 8 else "%H:%M:%S.%f")[:12]


def tick_s(span_s: float) -> float:
    """Return a round time between two ticks; at least two ticks are on the axis."""
    raw = span_s / _TICKS
    if raw < 1:
        power = 10.0 ** math.floor(math.log10(raw))
        return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.9999)
    return float(next((step for step in _NICE_S if step >= raw), math.ceil(raw / 86_400) * 86_400))


def _ticks(axis: Axis) -> str:
    length_ns = axis.length * axis.width_ns
    step_ns = max(1, round(tick_s(length_ns / 1e9) * 1e9))
    positions = range(
        -(-axis.begin_ns // step_ns) * step_ns, axis.begin_ns + int(0.96 * length_ns) + 1, step_ns
    )
    # On a narrow screen every second tick is hidden, if two remain.
    class_names = ["second" if at % 2 and len(positions) > 3 else None for at in range(len(positions))]
    marks = [
        tag(
            "i",
            clock(position, length_ns / 1e9),
            style=f"left:{100 * (position - axis.begin_ns) / length_ns:.2f}%",
            class_=class_name,
        )
        for position, class_name in zip(positions, class_names, strict=True)
    ]
    return tag(
        "div",
        tag("div", class_="name"),
        tag("div", *marks, class_="axis"),
        tag("div", class_="figure"),
        class_="track ticks",
    )


def draw(found: Findings) -> tuple[str, dict[str, Any]]:
    """Return the section, and the data that the script shows under the pointer."""
    axis, rates = Axis.of(found), by_topic(found.rates)
    drawn = set(busiest_topics(found.topics))
    tracks, data = [], []
    for at, row in enumerate(row for row in found.topics if row["topic"] in drawn):
        track, shown = _track(row, rates.get(row["topic"], []), axis, at)
        tracks.append(track)
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
        tag("div", *tracks, _ticks(axis), tag("div", class_="cross"), class_="tracks"),
        more(len(found.topics) - len(tracks), "topics"),
        class_="traffic",
    )
    about = {"begin_ms": axis.begin_ns / 1e6, "step_ms": axis.width_ns / 1e6, "length": axis.length}
    return made, {**about, "tracks": data}
