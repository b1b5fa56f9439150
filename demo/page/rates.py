# SPDX-License-Identifier: Apache-2.0
"""Messages a second: a small plot for each topic over one time axis; red marks are kills of its users."""

from demo import robot, timings
from demo.evidence import Evidence
from slipring.pipelines.html import svg
from slipring.pipelines.html.markup import tag
from slipring.units import frequency

_WIDTH, _LEFT, _RIGHT, _PANEL, _GAP, _TOP = 1060.0, 252.0, 70.0, 74.0, 26.0, 14.0
BIN_S = 0.5  # fifteen messages of the slowest topics: fewer would look like a comb


def _kills(evidence: Evidence, topic: str, x: svg.Scale, top: float) -> str:
    parts = []
    for kill in evidence.kills:
        component = robot.COMPONENTS[kill.name]
        if component.topics != (topic,):
            continue
        place = x((kill.at_ns - evidence.began_ns) / 1e9)
        words = svg.hint(f"{kill.name} killed at {(kill.at_ns - evidence.began_ns) / 1e9:.2f} s")
        sends = component.only_publishes or component.role == "member"
        mark = tag("rect", words, x=place - 1, y=top - 9, width=2, height=8, rx=1, class_="kill-mark")
        parts.append(svg.line(place, top, place, top + _PANEL, "kill-line") + mark if sends else mark)
    return "".join(parts)


def _kb_each(evidence: Evidence, topic: str) -> float:
    end = evidence.ends[topic]
    return end.bytes / end.published / 1e3 if end.published else 0.0


def _panel(evidence: Evidence, topic: str, x: svg.Scale, top: float) -> str:
    rates = timings.rates(evidence, topic, BIN_S)
    bin_s = x.high / len(rates)
    high = svg.round_up(max(rates, default=1.0))
    y = svg.Scale(0.0, high, top + _PANEL, top)
    points = [(x((index + 0.5) * bin_s), y(rate)) for index, rate in enumerate(rates)]
    area = [(points[0][0], y(0)), *points, (points[-1][0], y(0))]
    mean = timings.mean_rate(evidence, topic)
    kb_rate = mean * _kb_each(evidence, topic)
    data = f"{kb_rate / 1e3:.1f} MB/s" if kb_rate >= 1e3 else f"{kb_rate:.0f} kB/s"
    hovers = [
        tag("circle", svg.hint(f"{rate:,.0f}/s"), cx=px, cy=py, r=5, class_="hover")
        for (px, py), rate in zip(points, rates, strict=True)
    ]
    return tag(
        "g",
        svg.line(x.begin, y(high), x.end, y(high), "grid"),
        _kills(evidence, topic, x, top),
        svg.path(area, "area", closed=True),
        svg.path(points, "curve"),
        svg.line(x.begin, y(0), x.end, y(0), "axis"),
        *hovers,
        svg.text(0, top + 26, topic, "name"),
        svg.text(0, top + 44, robot.TOPICS[topic].story, "tick"),
        svg.text(x.begin - 8, y(high) + 4, f"{high:,.0f}/s", "tick", "end"),
        svg.text(x.begin - 8, y(0), "0", "tick", "end"),
        svg.text(_WIDTH, top + 30, f"{frequency(mean)}/s", "value", "end"),
        svg.text(_WIDTH, top + 46, data, "tick", "end"),
        class_=f"t-{topic}",
    )


def draw(evidence: Evidence) -> str:
    span_s = (evidence.ended_ns - evidence.began_ns) / 1e9
    x = svg.Scale(0.0, span_s, _LEFT, _WIDTH - _RIGHT)
    tops = [_TOP + index * (_PANEL + _GAP) for index in range(len(robot.TOPIC_NAMES))]
    bottom = tops[-1] + _PANEL
    panels = [_panel(evidence, topic, x, top) for topic, top in zip(robot.TOPIC_NAMES, tops, strict=True)]
    return svg.chart(_WIDTH, bottom + 24, "Messages a second", svg.seconds_axis(x, _TOP, bottom), *panels)
