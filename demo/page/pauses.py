# SPDX-License-Identifier: Apache-2.0
"""Pauses of the other processes at a kill, and between kills: two histograms, logarithmic bins."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from demo import timings
from demo.evidence import Evidence
from demo.timings import Pause
from slipring.pipelines.html import svg
from slipring.pipelines.html.markup import tag

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 1060.0, 230.0, 8.0, 30.0, 186.0
_EDGES_MS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_LEAST = 9  # bins, so that a quiet run still looks like a histogram
_WIDEST = 34.0


def _names() -> list[str]:
    between = [f"{low:g} to {high:g}" for low, high in pairwise(_EDGES_MS)]
    return [f"< {_EDGES_MS[0]:g}", *between, f"≥ {_EDGES_MS[-1]:g}"]


def _shares(pauses: Sequence[Pause]) -> list[float]:
    """Per cent of the pauses in each bin."""
    counts = [0] * (len(_EDGES_MS) + 1)
    for pause in pauses:
        counts[bisect_right(_EDGES_MS, pause.pause_s * 1e3)] += 1
    return [100 * count / max(1, len(pauses)) for count in counts]


def _column(x: float, top: float, width: float, words: str, look: str) -> str:
    """Rounded at its upper end."""
    round_ = min(3.0, _BOTTOM - top)
    corner, across = f"{round_:.1f}", f"h{width - 2 * round_:.1f}"
    shape = f"M{x:.1f} {_BOTTOM}V{top + round_:.1f}q0 -{corner} {corner} -{corner}{across}"
    shape += f"q{corner} 0 {corner} {corner}V{_BOTTOM}Z"
    return tag("path", svg.hint(words), d=shape, class_=f"column {look}")


def _spell(share: float) -> str:
    return f"{share:.0f} %" if share >= 1 else f"{share:.1f} %"


def draw(evidence: Evidence) -> str:
    killed, quiet = _shares(timings.survivor_pauses(evidence)), _shares(timings.quiet_pauses(evidence))
    bins = max(
        _LEAST, *(index + 1 for index, pair in enumerate(zip(killed, quiet, strict=True)) if any(pair)), 0
    )
    step = (_WIDTH - _LEFT) / bins
    width = min(step / 2 - 4, _WIDEST)
    y = svg.Scale(0.0, max(1.0, *killed, *quiet), _BOTTOM, _TOP)
    parts = []
    for index, name in enumerate(_names()[:bins]):
        middle = _LEFT + step * (index + 0.5)
        for share, x, look in (
            (killed[index], middle - width - 1, "t-commands"),
            (quiet[index], middle + 1, "t-all"),
        ):
            if share:
                parts.append(_column(x, y(share), width, f"{_spell(share)} paused {name} ms", look))
        if killed[index]:
            parts.append(
                svg.text(middle - width / 2, y(killed[index]) - 7, _spell(killed[index]), "value", "middle")
            )
        parts.append(svg.text(middle, _BOTTOM + 17, name, "tick", "middle"))
    parts.append(svg.line(_LEFT, _BOTTOM, _WIDTH, _BOTTOM, "axis"))
    words = "pause in milliseconds"
    parts.append(svg.text((_LEFT + _WIDTH) / 2, _BOTTOM + 38, words, "tick", "middle"))
    return svg.chart(_WIDTH, _HEIGHT, "Pauses of the other processes", *parts)
