# SPDX-License-Identifier: Apache-2.0
"""Every process as a bar, in one row for each component; SIGKILL is a red mark, the time while stopped is pale."""

from demo import robot
from demo.evidence import Evidence
from demo.timings import signs_of_life
from slipring.pipelines.html import svg
from slipring.pipelines.html.markup import tag
from slipring.units import counted
from storm.audit import Life

_WIDTH, _ROW, _LEFT, _RIGHT, _TOP = 1060.0, 24.0, 252.0, 70.0, 8.0
_BAR = 12.0


def _bar(life: Life, x: svg.Scale, y: float, began_ns: int, group: str) -> str:
    def place(time_ns: int) -> float:
        return x(min(max((time_ns - began_ns) / 1e9, x.low), x.high))

    signs = signs_of_life(life)
    begin, end = place(life.started_ns), place(life.ended_ns)
    working = place(signs[0]) if signs else end
    how = "SIGKILL" if life.killed else f"exit {life.code}"
    span = f"{(life.started_ns - began_ns) / 1e9:.2f} s to {(life.ended_ns - began_ns) / 1e9:.2f} s"
    parts = [
        svg.hint(f"{life.name}, process {life.life}: {span}, {how}"),
        tag("rect", x=begin, y=y + 4, width=max(0.0, working - begin), height=_BAR - 8, class_="starting"),
        tag("rect", x=working, y=y, width=max(0.0, end - working - 1), height=_BAR, rx=2, class_="bar"),
    ]
    if life.killed:
        parts.append(tag("rect", x=end - 1.5, y=y - 4, width=3, height=_BAR + 8, rx=1.5, class_="kill-mark"))
    return tag("g", *parts, class_=group)


def _pauses(evidence: Evidence, name: str, x: svg.Scale, y: float) -> str:
    parts = []
    for strike in evidence.strikes:
        if strike.name == name and strike.kind == "pause":
            begin, end = (x((at - evidence.began_ns) / 1e9) for at in (strike.at_ns, strike.until_ns))
            words = svg.hint(f"{name} was stopped for {(strike.until_ns - strike.at_ns) / 1e6:.0f} ms")
            parts.append(
                tag("rect", words, x=begin, y=y + 2, width=end - begin, height=_BAR - 4, class_="pause")
            )
    return "".join(parts)


def _row(evidence: Evidence, component: robot.Component, x: svg.Scale, top: float) -> str:
    y, lives = top + (_ROW - _BAR) / 2, evidence.of(component.name)
    group = f"t-{component.topics[0]}" if len(component.topics) == 1 else "t-all"
    count = counted(len(lives), "start")
    return "".join(
        [
            svg.text(0, y + 10, component.name, "name"),
            svg.text(_LEFT - 14, y + 10, component.story, "tick", "end"),
            *(_bar(life, x, y, evidence.began_ns, group) for life in lives),
            _pauses(evidence, component.name, x, y),
            svg.text(_WIDTH, y + 10, count, "tick", "end"),
        ]
    )


def draw(evidence: Evidence) -> str:
    components = list(robot.COMPONENTS.values())
    span_s = (evidence.ended_ns - evidence.began_ns) / 1e9
    bottom = _TOP + _ROW * len(components)
    x = svg.Scale(0.0, span_s, _LEFT, _WIDTH - _RIGHT)
    rows = [_row(evidence, one, x, _TOP + _ROW * index) for index, one in enumerate(components)]
    return svg.chart(
        _WIDTH, bottom + 24, "Starts and ends of all processes", svg.seconds_axis(x, _TOP, bottom), *rows
    )
