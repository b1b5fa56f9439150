# SPDX-License-Identifier: Apache-2.0
"""Draws a run's samples: ``python -m benchmarks.plot benchmarks/results/full.json`` makes full.png.

Bars stand on a logarithmic scale because the rivals lie orders of magnitude apart; whiskers span all rounds.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

from benchmarks import rivals_venv, summary
from benchmarks.report import number

OURS, THEIRS, INK, PALE = "#0b7a75", "#b8bfc6", "#20262c", "#7d8790"
SIZES = {64: "64 B", 1024: "1 KiB", 65536: "64 KiB", 1 << 20: "1 MiB"}
LINES = {"slipring": OURS, "pyzmq": "#d1495b", "iceoryx2": "#edae49", "unix-socket": "#4b6584"}


def spreads(samples: list[dict], question: str, figure: str, only: str = "") -> dict[str, summary.Spread]:
    found = {}
    for case in dict.fromkeys(sample["case"] for sample in summary.good(samples, question)):
        if only in case and (spread := summary.spread(samples, question, case, figure)):
            found[case.replace(only, "").strip()] = spread
    return found


def draw_bars(
    axes, found: dict[str, summary.Spread], title: str, unit: str, best_is_low: bool = False
) -> None:
    ordered = sorted(found.items(), key=lambda item: item[1].middle, reverse=best_is_low)
    names = [name for name, _ in ordered]
    middles = [spread.middle for _, spread in ordered]
    whiskers = [
        [spread.middle - spread.low for _, spread in ordered],
        [spread.high - spread.middle for _, spread in ordered],
    ]
    colours = [OURS if name.startswith("slipring") else THEIRS for name in names]
    style = {"ecolor": PALE, "elinewidth": 1, "capsize": 2}
    axes.barh(names, middles, xerr=whiskers, color=colours, error_kw=style, height=0.72)
    axes.set_xscale("log")
    for row, (_, spread) in enumerate(ordered):
        axes.annotate(
            f" {number(spread.middle)}",
            (spread.high, row),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            color=INK,
        )
    axes.set_xlim(
        min(spread.low for spread in found.values()) / 2, max(spread.high for spread in found.values()) * 5
    )
    axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold", color=INK)
    axes.set_xlabel(unit, fontsize=8.5, color=PALE)


def draw_lines(
    axes, series: dict[str, dict[float, summary.Spread]], title: str, across: str, unit: str
) -> None:
    others = iter(["#d1495b", "#edae49", "#4b6584", "#8d6a9f"])
    for name, points in series.items():
        places = sorted(points)
        colour = next((c for start, c in LINES.items() if name.startswith(start)), None) or next(others)
        dashes = "--" if name.endswith(("slow", "backlog")) else "-"
        axes.plot(
            places, [points[x].middle for x in places], dashes, marker="o", ms=4, color=colour, label=name
        )
        low, high = [points[x].low for x in places], [points[x].high for x in places]
        axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_yscale("log")
    axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold", color=INK)
    axes.set_xlabel(across, fontsize=8.5, color=PALE)
    axes.set_ylabel(unit, fontsize=8.5, color=PALE)
    # Room above the highest line, so that the legend covers none.
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top * (top / bottom) ** 0.35)
    axes.legend(frameon=False, fontsize=8, loc="upper right", ncols=2)


def series(samples: list[dict], question: str, figure: str, across: str, names: list[str]) -> dict:
    """Cases of a question as lines along ``across``: one for each transport and its other settings."""
    found: dict[str, dict[float, summary.Spread]] = {}
    for sample in summary.good(samples, question):
        other = [str(value) for key, value in sample["settings"].items() if key != across]
        name = " ".join([sample["transport"], *other])
        if names and sample["transport"] not in names:
            continue
        spread = summary.spread(samples, question, sample["case"], figure)
        if spread:
            found.setdefault(name, {})[sample["settings"][across]] = spread
    return found


def panels(samples: list[dict]) -> list:
    """The panels for which there are samples, each a function of its axes."""
    made = []
    if one := spreads(samples, "throughput", "messages_per_s", "size=64"):
        made.append(lambda axes: draw_bars(axes, one, "64 B, one message a call", "messages/s"))
    if sizes := series(samples, "throughput", "messages_per_s", "size", list(LINES)):

        def draw_sizes(axes):
            draw_lines(axes, sizes, "One message a call, by size", "body", "messages/s")
            axes.set_xscale("log", base=2)
            axes.set_xticks(list(SIZES), list(SIZES.values()))

        made.append(draw_sizes)
    if many := spreads(samples, "batches", "messages_per_s", "size=64"):
        made.append(lambda axes: draw_bars(axes, many, "64 B, many messages a call", "messages/s"))
    if trips := spreads(samples, "round_trip", "p50_us"):
        made.append(
            lambda axes: draw_bars(axes, trips, "Round trip of 64 B, median", "µs (less is better)", True)
        )
    if calls := spreads(samples, "calls", "p50_us"):
        made.append(lambda axes: draw_bars(axes, calls, "A small call, median", "µs (less is better)", True))
    if crowds := series(samples, "publisher_cost", "ns_per_send", "crowd", []):

        def draw_crowds(axes):
            draw_lines(axes, crowds, "Publisher's cost of a send", "subscribers that do not keep up", "ns")
            axes.set_xscale("symlog", base=2, linthresh=1)
            axes.set_xticks([0, 1, 4, 16, 64], ["0", "1", "4", "16", "64"])
            axes.set_xlim(-0.2, 80)

        made.append(draw_crowds)
    if rings := series(samples, "ring_size", "ns_per_recv", "capacity", []):

        def draw_rings(axes):
            draw_lines(axes, rings, "Cost of a receive, by ring size", "ring", "ns")
            axes.set_xscale("log", base=2)
            axes.set_xticks([1 << 16, 1 << 20, 1 << 24, 1 << 28], ["64 KiB", "1 MiB", "16 MiB", "256 MiB"])
            axes.set_ylim(10, 1000)

        made.append(draw_rings)
    return made


def draw(kept: Path) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    run = json.loads(kept.read_text())
    made = panels(run["samples"])
    columns = min(2, len(made))
    rows = -(-len(made) // columns)
    figure, grid = pyplot.subplots(rows, columns, figsize=(6.2 * columns, 3.6 * rows), squeeze=False)
    for axes, panel in zip(grid.flat, made, strict=False):
        panel(axes)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8.5, colors=INK)
        axes.minorticks_off()
    for axes in list(grid.flat)[len(made) :]:
        axes.set_visible(False)
    machine = run["machine"]
    note = "{processor}, {processors} processors, Linux {kernel}, {python}".format(**machine)
    figure.suptitle(
        "Slipring beside its rivals, Python process to Python process", fontsize=13, fontweight="bold"
    )
    figure.text(
        0.5,
        0.005,
        f"{note}; median of the rounds, whiskers and bands from lowest to highest",
        ha="center",
        fontsize=8,
        color=PALE,
    )
    figure.tight_layout(rect=(0, 0.02, 1, 0.985))
    picture = kept.with_suffix(".png")
    figure.savefig(picture, dpi=150)
    return picture


def draw_if_possible(kept: Path) -> None:
    """Draw here or, where matplotlib is missing, with the rivals' environment, which brings it."""
    if not panels(json.loads(kept.read_text())["samples"]):
        return  # only questions that have no picture were asked
    if importlib.util.find_spec("matplotlib"):
        print(f"plot: {draw(kept)}")
        return
    done = subprocess.run([rivals_venv.PYTHON, "-m", "benchmarks.plot", kept], cwd=rivals_venv.HERE.parent)
    if done.returncode != 0:
        print("no plot: matplotlib is not installed (pip install matplotlib)", file=sys.stderr)


if __name__ == "__main__":
    print(f"plot: {draw(Path(sys.argv[1]).resolve())}")
