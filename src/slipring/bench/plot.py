# SPDX-License-Identifier: Apache-2.0
"""Draws a run as a picture, with matplotlib: ours, the rivals and the floors, side by side.

Dots stand on a logarithmic scale because they lie orders of magnitude apart, and a bar would have no honest beginning
there; the line through each spans all rounds. The floor is a line across the panel: nobody gets past it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slipring.bench import report
from slipring.bench.bystanders import TOLERATED
from slipring.bench.panels import Panel, Row, panels
from slipring.bench.spelling import spelled

COLOURS = {"ours": "#0b7a75", "rival": "#8b949e", "floor": "#d1495b"}
INK, PALE, LINE = "#20262c", "#6b7580", "#e6e9ec"
MARKS = {"ours": "o", "rival": "o", "floor": "D"}
LEGEND = {"ours": "Slipring", "rival": "others", "floor": "floor: C on the same machine"}
COLUMNS = 3


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
    floors = [row.spread.middle for row in panel.rows if row.kind == "floor"]
    if floors:
        axes.axvline(floors[0], color=COLOURS["floor"], linewidth=0.8, linestyle=(0, (4, 4)), zorder=0)


def draw_panel(axes: Any, panel: Panel, height: int) -> None:
    """``height`` rows have room; those that there are stand at the top, as far apart as in the neighbours."""
    rows = list(reversed(panel.rows))
    axes.set_xscale("log")
    draw_rows(axes, panel, rows)
    lowest, highest = min(row.spread.low for row in rows), max(row.spread.high for row in rows)
    # Room for the figures beside the dots, whose width does not depend on the scale.
    axes.set_xlim(lowest / 1.6, highest * max(1.6, (highest / lowest) ** 0.3))
    axes.set_ylim(len(rows) - height - 0.7, len(rows) - 0.3)
    axes.set_title(panel.title, loc="left", fontsize=11, fontweight="bold", color=INK)
    axes.set_xlabel(panel.note, fontsize=8.5, color=PALE, loc="left")
    axes.xaxis.set_major_formatter(lambda value, _: spelled(panel.figure, value))
    axes.grid(axis="x", color=LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(LINE)
    axes.tick_params(labelsize=9, length=0, colors=INK)
    axes.minorticks_off()
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


def draw(run: dict[str, Any], picture: Path) -> bool:
    """False if the run has nothing to draw."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.lines import Line2D

    found = panels(run["samples"])
    if not found:
        return False
    columns = min(2 if run["plan"]["quick"] else COLUMNS, len(found))
    rows = -(-len(found) // columns)
    tallest = [
        max(len(panel.rows) for panel in found[at * columns : (at + 1) * columns]) for at in range(rows)
    ]
    heights = [0.29 * count + 1.05 for count in tallest]
    figure, grid = pyplot.subplots(
        rows, columns, figsize=(5.3 * columns, sum(heights) + 1.0), squeeze=False, height_ratios=heights
    )
    for at, (axes, panel) in enumerate(zip(grid.flat, found, strict=False)):
        draw_panel(axes, panel, tallest[at // columns])
    for axes in list(grid.flat)[len(found) :]:
        axes.set_visible(False)
    top = 1 - 0.32 / figure.get_figheight()
    title: dict[str, Any] = {"fontsize": 14, "fontweight": "bold", "color": INK}
    figure.text(0.012, top, "Slipring beside its rivals, one Python process to another", **title)
    marks = [
        Line2D([], [], marker=MARKS[kind], color=COLOURS[kind], linewidth=0, label=text)
        for kind, text in LEGEND.items()
    ]
    below = top - 0.04 / figure.get_figheight()
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.006, below), "borderaxespad": 0}
    figure.legend(handles=marks, ncols=3, frameon=False, fontsize=9.5, handletextpad=0.2, **place)
    figure.text(0.012, 0.006, note(run), fontsize=8, color=PALE)
    figure.tight_layout(rect=(0, 0.02, 1, below - 0.3 / figure.get_figheight()))
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=150)
    pyplot.close(figure)
    return True
