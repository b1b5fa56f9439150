# SPDX-License-Identifier: Apache-2.0
"""Every life of every process as a bar; its end by SIGKILL as a red mark, its pauses hollow."""

from demo import cast
from demo.evidence import Evidence, Story
from demo.page import svg
from demo.timings import signs_of_life

_WIDTH, _ROW, _LEFT, _RIGHT, _TOP = 1060.0, 24.0, 252.0, 70.0, 8.0
_BAR = 12.0


def _bar(story: Story, x: svg.Scale, y: float, began_ns: int, group: str) -> str:
    def place(time_ns: int) -> float:
        return x(min(max((time_ns - began_ns) / 1e9, x.low), x.high))

    signs = signs_of_life(story)
    begin, end = place(story.started_ns), place(story.ended_ns)
    working = place(signs[0]) if signs else end
    how = "SIGKILL" if story.killed else f"exit {story.exit_code}"
    span = f"{(story.started_ns - began_ns) / 1e9:.2f} s to {(story.ended_ns - began_ns) / 1e9:.2f} s"
    parts = [
        svg.hint(f"{story.seat}, process {story.incarnation}: {span}, {how}"),
        svg.tag(
            "rect", x=begin, y=y + 4, width=max(0.0, working - begin), height=_BAR - 8, class_="starting"
        ),
        svg.tag("rect", x=working, y=y, width=max(0.0, end - working - 1), height=_BAR, rx=2, class_="bar"),
    ]
    if story.killed:
        parts.append(
            svg.tag("rect", x=end - 1.5, y=y - 4, width=3, height=_BAR + 8, rx=1.5, class_="kill-mark")
        )
    return svg.tag("g", *parts, class_=group)


def _pauses(evidence: Evidence, seat: str, x: svg.Scale, y: float) -> str:
    parts = []
    for strike in evidence.strikes:
        if strike.seat == seat and strike.kind == "pause":
            begin, end = (x((at - evidence.began_ns) / 1e9) for at in (strike.at_ns, strike.until_ns))
            words = svg.hint(f"{seat} was stopped for {(strike.until_ns - strike.at_ns) / 1e6:.0f} ms")
            parts.append(
                svg.tag("rect", words, x=begin, y=y + 2, width=end - begin, height=_BAR - 4, class_="pause")
            )
    return "".join(parts)


def _row(evidence: Evidence, seat: cast.Seat, x: svg.Scale, top: float) -> str:
    y, stories = top + (_ROW - _BAR) / 2, evidence.of(seat.name)
    group = f"t-{seat.topics[0]}" if len(seat.topics) == 1 else "t-all"
    lives = f"{len(stories)} lives" if len(stories) > 1 else "1 life"
    return "".join(
        [
            svg.text(0, y + 10, seat.name, "name"),
            svg.text(_LEFT - 14, y + 10, seat.story, "tick", "end"),
            *(_bar(story, x, y, evidence.began_ns, group) for story in stories),
            _pauses(evidence, seat.name, x, y),
            svg.text(_WIDTH, y + 10, lives, "tick", "end"),
        ]
    )


def draw(evidence: Evidence) -> str:
    seats = list(cast.SEATS.values())
    span_s = (evidence.ended_ns - evidence.began_ns) / 1e9
    bottom = _TOP + _ROW * len(seats)
    x = svg.Scale(0.0, span_s, _LEFT, _WIDTH - _RIGHT)
    rows = [_row(evidence, seat, x, _TOP + _ROW * index) for index, seat in enumerate(seats)]
    return svg.drawing(
        _WIDTH, bottom + 24, "Lives of all processes", svg.seconds_axis(x, _TOP, bottom), *rows
    )
