# SPDX-License-Identifier: Apache-2.0
"""The slow reader: the messages it read and those it lost, which add up to those that were committed."""

from demo import robot, timings
from demo.evidence import Evidence
from slipring.pipelines.html import svg

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 515.0, 372.0, 50.0, 96.0, 12.0, 340.0


def draw(evidence: Evidence) -> str:
    slow = robot.COMPONENTS["logger"]
    rows, look = timings.losses(evidence, slow.name), f"t-{slow.topics[0]}"
    span_s = (evidence.ended_ns - evidence.began_ns) / 1e9
    rows = [row for row in rows if 0 <= row[0] <= span_s]
    x = svg.Scale(0.0, span_s, _LEFT, _WIDTH - _RIGHT)
    high = svg.round_up(max(received + lost for _, received, lost in rows))
    y = svg.Scale(0.0, high, _BOTTOM, _TOP)
    read = [(x(seconds), y(received)) for seconds, received, _ in rows]
    total = [(x(seconds), y(received + lost)) for seconds, received, lost in rows]
    _, received, lost = rows[-1]
    right = _WIDTH - _RIGHT + 8
    middle = min(y(received + lost / 2), y(received) - 34)
    return svg.chart(
        _WIDTH,
        _HEIGHT,
        "Loss of the slow reader",
        svg.seconds_axis(x, _TOP, _BOTTOM),
        svg.line(x.begin, y(high), x.end, y(high), "grid"),
        svg.text(_LEFT - 8, y(high) + 4, f"{high:,.0f}", "tick", "end"),
        svg.text(_LEFT - 8, y(0), "0", "tick", "end"),
        svg.path([*total, *reversed(read)], "lost-area", closed=True),
        svg.path([(x(rows[0][0]), y(0)), *read, (read[-1][0], y(0))], f"{look} read-area", closed=True),
        svg.path(total, "lost-curve"),
        svg.path(read, f"{look} read-curve"),
        svg.line(x.begin, y(0), x.end, y(0), "axis"),
        svg.text(right, middle, f"{lost:,}", "value"),
        svg.text(right, middle + 15, "lost, counted", "tick"),
        svg.text(right, y(received) - 6, f"{received:,}", "value"),
        svg.text(right, y(received) + 9, "read", "tick"),
    )
