# SPDX-License-Identifier: Apache-2.0
"""Medians, spread and ratios of a run, as tables; what has one figure, as lines below them."""

import statistics
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.spark.delay import percentiles_ms
from benchmarks.spark.paths import BARS
from benchmarks.spark.run import STREAMED

WIDTH = 110


def _millions(rate: float) -> str:
    return f"{rate / 1e6:.2f} M" if rate >= 1e5 else f"{rate / 1e3:.1f} k"


def show(run: dict[str, Any], console: Console | None = None) -> None:
    console = console or Console(width=WIDTH)
    for size, ways in run["rates"].items():
        console.print(_rates(f"Rows a second, bodies of {size} B", ways, dict.fromkeys(ways, int(size))))
    console.print(_against(run["rates"]))
    for size, ways in run["sources"].items():
        # The rate source's rows are its own: a time and a number.
        sizes = {name: 16 if name == "rate source" else STREAMED for name in ways}
        console.print(_rates(f"Streams to nothing, rows a second, bodies of {size} B", ways, sizes))
    for size, ways in run["replay"].items():
        title = f"Replay as fast as it goes, messages a second, bodies of {size} B"
        console.print(_rates(title, ways, dict.fromkeys(ways, int(size))))
    for line in _lines(run):
        console.print(line, soft_wrap=True)


def _rates(title: str, ways: dict[str, list[float]], sizes: dict[str, int]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("way")
    for name in ("lowest", "median", "highest", "MB/s"):
        table.add_column(name, justify="right")
    for way, rates in ways.items():
        median = statistics.median(rates)
        figures = map(_millions, (min(rates), median, max(rates)))
        table.add_row(way, *figures, f"{median * sizes[way] / 1e6:,.1f}")
    return table


def _against(sizes: dict[str, dict[str, list[float]]]) -> Table:
    bars = Table(title="Topics against files (ratio of medians)", title_justify="left")
    for name in ("way", "against", "size", "wanted", "ratio", "by round", ""):
        bars.add_column(name)
    for size, paths in sizes.items():
        for ours, theirs, wanted in (bar for bar in BARS if bar[0] in paths):
            ratio = statistics.median(paths[ours]) / statistics.median(paths[theirs])
            rounds = [a / b for a, b in zip(paths[ours], paths[theirs], strict=True)]
            spread = f"{min(rounds):.2f} - {max(rounds):.2f}"
            verdict = "met" if ratio >= wanted else "MISSED"
            against = theirs.split(": ")[1] if ours.startswith(theirs.split(": ")[0]) else theirs
            bars.add_row(ours, against, size, f"≥ {wanted}", f"{ratio:.2f}", spread, verdict)
    return bars


def _lines(run: dict[str, Any]) -> list[str]:
    lines = []
    if batches := run.get("micro_batch_s"):
        ordered = sorted(batches)
        lines.append(
            f"a micro-batch of one message: median {statistics.median(ordered) * 1000:.0f} ms, "
            f"p90 {ordered[int(0.9 * len(ordered))] * 1000:.0f} ms (wanted: ≤ 80 ms)"
        )
    if told := run.get("delay"):
        figures = percentiles_ms(told["delays_s"])
        lines.append(
            "from a send into the lake: "
            + ", ".join(f"{name} {value:.0f} ms" for name, value in figures.items())
            + f" ({told['messages']} messages, {told['lost']} lost; log read every "
            f"{told['look_s_p99'] * 1000:.1f} ms (p99), at worst {told['look_s_most'] * 1000:.0f} ms)"
        )
    for size, told in run.get("recording", {}).items():
        lines.append(
            f"recording {size} B: {told['published_per_s'] / 1e6:.2f} M/s published "
            f"(asked {told['asked_per_s'] / 1e6:g} M/s), "
            f"{told['recorded']:,} of {told['published']:,} recorded, {told['lost']:,} lost; "
            f"lag median {told['lag_median']:,}, most {told['lag_most']:,}"
        )
    return lines
