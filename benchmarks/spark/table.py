# SPDX-License-Identifier: Apache-2.0
"""Medians, spread and ratios of a run, as tables."""

import statistics
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.spark.paths import BARS


def _millions(rate: float) -> str:
    return f"{rate / 1e6:.2f} M"


def show(run: dict[str, Any]) -> None:
    console = Console()
    for size, paths in run["rates"].items():
        table = Table(title=f"Rows a second, bodies of {size} B", title_justify="left")
        table.add_column("way")
        for name in ("lowest", "median", "highest", "MB/s"):
            table.add_column(name, justify="right")
        for path, rates in paths.items():
            median = statistics.median(rates)
            table.add_row(
                path, *map(_millions, (min(rates), median, max(rates))), f"{median * int(size) / 1e6:,.0f}"
            )
        console.print(table)
    bars = Table(title="Against Spark's own files (ratio of medians)", title_justify="left")
    for name in ("way", "size", "wanted", "ratio", "by round", ""):
        bars.add_column(name)
    for size, paths in run["rates"].items():
        for ours, theirs, wanted in BARS:
            ratio = statistics.median(paths[ours]) / statistics.median(paths[theirs])
            rounds = [a / b for a, b in zip(paths[ours], paths[theirs], strict=True)]
            spread = f"{min(rounds):.2f} - {max(rounds):.2f}"
            bars.add_row(
                ours, size, f"≥ {wanted}", f"{ratio:.2f}", spread, "met" if ratio >= wanted else "MISSED"
            )
    console.print(bars)
    if batches := run.get("micro_batch_s"):
        ordered = sorted(batches)
        console.print(
            f"a micro-batch of one message: median {statistics.median(ordered) * 1000:.0f} ms, "
            f"p90 {ordered[int(0.9 * len(ordered))] * 1000:.0f} ms (wanted: ≤ 80 ms)"
        )
    for size, told in run.get("recording", {}).items():
        console.print(
            f"recording {size} B: {told['published_per_s'] / 1e6:.2f} M/s published "
            f"(asked {told['asked_per_s'] / 1e6:g} M/s), "
            f"{told['recorded']:,} of {told['published']:,} recorded, {told['lost']:,} lost; "
            f"lag median {told['lag_median']:,}, most {told['lag_most']:,}"
        )
