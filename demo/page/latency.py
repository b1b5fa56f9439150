# SPDX-License-Identifier: Apache-2.0
"""Send to receive: percentiles of each topic on one logarithmic axis."""

import math

from demo import robot, timings
from demo.evidence import Evidence
from slipring.pipelines.html import svg
from slipring.pipelines.html.markup import tag

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 515.0, 84.0, 24.0, 46.0, 12.0
_NAME_WIDTH = 84.0
_SIZES = (6.0, 4.5, 4.0, 3.5, 3.0)


def spell(us: float) -> str:
    if us < 1000:
        return f"{us:.3g} µs"
    return f"{us / 1e3:.3g} ms" if us < 1e6 else f"{us / 1e6:.3g} s"


def figures(evidence: Evidence, topic: str) -> list[tuple[str, float]]:
    ordered = timings.latencies_us(evidence, topic)
    rows = [(f"p{percent:g}", timings.percentile(ordered, percent)) for percent in timings.PERCENTILES]
    return [*rows, ("max", ordered[-1])] if ordered else []


def _name(words: str, x: float, y: float) -> str:
    """Above its dot, and inside the drawing."""
    fits = x < _WIDTH - _NAME_WIDTH / 2
    return svg.text(x if fits else _WIDTH, y - 12, words, "tick", "middle" if fits else "end")


def _row(topic: str, values: list[tuple[str, float]], x: svg.Scale, y: float) -> str:
    dots = [
        tag("circle", svg.hint(f"{topic} {name}: {spell(us)}"), cx=x(us), cy=y, r=size, class_="dot")
        for (name, us), size in zip(values, _SIZES, strict=True)
    ]
    (_, median), (_, high) = values[0], values[2]
    names = [_name(f"p50 {spell(median)}", x(median), y)]
    if x(high) - x(median) > _NAME_WIDTH:
        names.append(_name(f"p99 {spell(high)}", x(high), y))
    track = svg.line(x(values[0][1]), y, x(values[-1][1]), y, "track")
    return tag("g", svg.text(0, y + 4, topic, "name"), track, *dots, *names, class_=f"t-{topic}")


def draw(evidence: Evidence) -> str:
    known = {topic: values for topic in robot.TOPIC_NAMES if (values := figures(evidence, topic))}
    every = [us for values in known.values() for _, us in values] or [1.0]
    low = 10.0 ** math.floor(math.log10(max(min(every), 0.1)))
    high = 10.0 ** math.ceil(math.log10(max(every) * 1.0001))
    x = svg.Scale(low, high, _LEFT, _WIDTH - _RIGHT, log=True)
    bottom = _TOP + _ROW * len(known) + 6
    grid = []
    for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
        place = x(10.0**power)
        grid.append(svg.line(place, _TOP, place, bottom, "grid"))
        grid.append(svg.text(place, bottom + 16, spell(10.0**power), "tick", "middle"))
    rows = [
        _row(topic, values, x, _TOP + _ROW * (i + 0.65)) for i, (topic, values) in enumerate(known.items())
    ]
    return svg.chart(_WIDTH, bottom + 24, "Latency percentiles", *grid, *rows)
