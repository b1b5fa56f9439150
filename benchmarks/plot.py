# SPDX-License-Identifier: Apache-2.0
"""Draws a run as a picture, with matplotlib: ours, the rivals and C programs, side by side.

Values lie orders of magnitude apart, so the scale is logarithmic, and a dot stands for each: a bar would have no true
beginning there. The band behind a dot spans all rounds. The dashed line is the value of a C program that does the same:
a reference and not a limit, because it is measured in rounds like the others. Where others passed it, the panel names
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from benchmarks.panels import LEGEND, Panel, Row, panels
from slipring.bench import report
from slipring.bench.other_load import TOLERATED
from slipring.bench.spelling import spelled

COLOURS = {"ours": "#0b7a75", "rival": "#8b949e", "floor": "#d1495b"}
INK, PALE, LINE = "#20262c", "#6b7580", "#e6e9ec"
MARKS = {"ours": "o", "rival": "o", "floor": "D"}
COLUMNS = 3
PANEL_IN = 5.3  # the width of a panel
LEAST_IN = 7.4  # the width of a picture with one panel: its heading has room
DPI = 150
_STEPS = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 6, 8))  # of a decade, until there are enough ticks
_FEWEST, _MOST = 3, 6


def ticks(low: float, high: float) -> list[float]:
    """Round values between two others, for a logarithmic scale: three to six of them."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found: list[float] = []
    for steps in _STEPS:
        found = [step * 10.0**decade for decade in decades for step in steps]
        found = [value for value in found if low <= value <= high]
        if len(found) >= _FEWEST:
            break
    if len(found) < _FEWEST:  # less than a fifth of a decade: as on a linear scale
        raw = (high - low) / _FEWEST
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(factor * power for factor in (5, 2.5, 2, 1) if factor * power <= raw * 1.0001)
        found = [step * at for at in range(math.ceil(low / step), math.floor(high / step) + 1)]
    every = math.ceil(len(found) / _MOST)
    return found[::every]


def draw_rows(axes: Any, panel: Panel, rows: list[Row]) -> None:
    for at, row in enumerate(rows):
        colour, ours, spread = COLOURS[row.kind], row.kind == "ours", row.spread
        band = {"linewidth": 5, "alpha": 0.3, "solid_capstyle": "round"}
        axes.plot([spread.low, spread.high], [at, at], color=colour, **band)
        axes.plot(spread.middle, at, marker=MARKS[row.kind], ms=8 if ours else 6.5, color=colour, zorder=3)
        axes.annotate(
            spelled(panel.figure, spread.middle),
            (spread.high, at),
            xytext=(10, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            color=INK,
            fontweight="bold" if ours else "normal",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )
    if panel.reference:
        place = panel.reference.spread.middle
        axes.axvline(place, color=COLOURS["floor"], linewidth=0.8, linestyle=(0, (4, 4)), zorder=0)


def draw_panel(axes: Any, panel: Panel, height: int) -> None:
    """``height`` rows have room; those that there are stand at the top, as far apart as in the neighbours."""
    from matplotlib.ticker import FixedLocator, NullLocator

    rows = list(reversed(panel.rows))
    axes.set_xscale("log")
    draw_rows(axes, panel, rows)
    lowest, highest = min(row.spread.low for row in rows), max(row.spread.high for row in rows)
    # Room for the figures beside the dots, whose width does not depend on the scale.
    low, high = lowest / 1.6, highest * max(1.6, (highest / lowest) ** 0.3)
    axes.set_xlim(low, high)
    axes.set_ylim(len(rows) - height - 0.7, len(rows) - 0.3)
    axes.set_title(panel.title, loc="left", fontsize=11, fontweight="bold", color=INK)
    axes.set_xlabel("\n".join(wrap(panel.note, 62)), fontsize=8.5, color=PALE, loc="left")
    axes.xaxis.set_major_locator(FixedLocator(ticks(low, high)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: spelled(panel.figure, value))
    axes.grid(axis="x", color=LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(LINE)
    axes.tick_params(labelsize=9, length=0, colors=INK)
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    for tick, row in zip(axes.get_yticklabels(), rows, strict=True):
        tick.set_color(INK if row.kind == "rival" else COLOURS[row.kind])
        tick.set_fontweight("bold" if row.kind == "ours" else "normal")


def note(run: dict[str, Any]) -> str:
    machine = "{processor}, {processors} processors, Linux {kernel}, {python}".format(**run["machine"])
    rounds = len({sample["round"] for sample in run["samples"]})
    others = report.others_busy(run["samples"])
    disturbed = f"; DISTURBED: other programs kept {others:.2g} processors busy" if others > TOLERATED else ""
    spread = f"median of {rounds} rounds, the band is all of them" if rounds > 1 else "one round"
    return f"{machine}, {run['machine']['taken_at'][:10]}; {spread}{disturbed}"


def _lines(figure: Any, words: str, **style: Any) -> str:
    """Words in as many lines as the width of the picture asks for."""
    text = figure.text(0.012, 0, words, **style)
    room, width = figure.bbox.width * 0.976, text.get_window_extent().width
    text.remove()
    return "\n".join(wrap(words, max(20, int(len(words) * room / width)))) if width > room else words


def compose(found: Sequence[Panel], columns: int, title: str, legend: dict[str, str], below: str) -> Any:
    """A picture of panels in rows, with its title and its legend above and a note below them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.lines import Line2D

    lines = [found[first : first + columns] for first in range(0, len(found), columns)]
    tallest = [max(len(panel.rows) for panel in line) for line in lines]
    deepest = [max(len(wrap(panel.note, 62)) for panel in line) for line in lines]
    heights = [0.29 * count + 0.91 + 0.14 * deep for count, deep in zip(tallest, deepest, strict=True)]
    width, height = max(PANEL_IN * columns, LEAST_IN), sum(heights) + 1.0
    figure, grid = pyplot.subplots(
        len(lines), columns, figsize=(width, height), squeeze=False, height_ratios=heights
    )
    for at, axes in enumerate(grid.flat):
        axes.set_visible(at < len(found))
        if at < len(found):
            draw_panel(axes, found[at], tallest[at // columns])
    heading: dict[str, Any] = {"fontsize": 14, "fontweight": "bold", "color": INK}
    small: dict[str, Any] = {"fontsize": 8, "color": PALE}
    title, below = _lines(figure, title, **heading), _lines(figure, below, **small)
    top = 1 - 0.12 / height
    figure.text(0.012, top, title, va="top", **heading)
    top -= 0.25 * (title.count("\n") + 1) / height
    marks = [
        Line2D([], [], marker=MARKS[kind], color=COLOURS[kind], linewidth=0, label=text)
        for kind, text in legend.items()
    ]
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.006, top), "borderaxespad": 0}
    shown = figure.legend(handles=marks, ncols=3, frameon=False, fontsize=9.5, handletextpad=0.2, **place)
    top -= shown.get_window_extent().height / figure.bbox.height
    figure.text(0.012, 0.06 / height, below, va="bottom", **small)
    foot = (0.16 + 0.14 * (below.count("\n") + 1)) / height
    figure.tight_layout(rect=(0, foot, 1, top))
    return figure


def save(figure: Any, picture: Path) -> None:
    from matplotlib import pyplot

    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=DPI)
    pyplot.close(figure)


def draw(run: dict[str, Any], picture: Path) -> bool:
    """False if the run has nothing to draw."""
    found = panels(run["samples"])
    if not found:
        return False
    columns = min(2 if run["plan"]["quick"] else COLUMNS, len(found))
    title = "Slipring beside its rivals, one Python process to another"
    save(compose(found, columns, title, LEGEND, note(run)), picture)
    return True
