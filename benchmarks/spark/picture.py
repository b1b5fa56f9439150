# SPDX-License-Identifier: Apache-2.0
"""Draws a run as a picture: a panel for each question, drawn as those of `slipring bench` are.

Dots are medians, bands span the rounds. The dashed line is a Python source that only hands Arrow IPC files to Spark: a
reference, measured in the same rounds. Spark reads Parquet files without Python, so that they can be ahead of it. Of
the delay and of micro-batches the dots are percentiles.
"""

from pathlib import Path
from typing import Any

from benchmarks.panels import Panel, Row
from benchmarks.plot import COLUMNS, compose, save
from benchmarks.spark.delay import percentiles_ms
from slipring.bench.summary import Spread

LEGEND = {
    "ours": "Slipring",
    "rival": "Spark's own",
    "floor": "Arrow IPC files from a Python source, for reference",
}
# a line of the picture for each size; six columns to nothing are in the tables
WAYS = ("value to nothing", "six columns to Parquet", "value to a topic")


def _spelled(size: str) -> str:
    return f"{size} B" if int(size) < 1024 else f"{int(size) // 1024} KiB"


def _row(name: str, values: list[float]) -> Row:
    kind = {"topic": "ours", "Arrow IPC": "floor"}.get(name, "rival")
    return Row(name, kind, Spread.of(values))


def _sorted(title: str, figure: str, rows: list[Row]) -> Panel:
    return Panel(title, figure, sorted(rows, key=lambda row: row.spread.middle, reverse=True))


def _of_paths(run: dict[str, Any]) -> list[Panel]:
    found = []
    for size, paths in run["rates"].items():
        for way in WAYS:
            ends = {
                path.split(": ")[1]: rates for path, rates in paths.items() if path.startswith(f"{way}: ")
            }
            title = f"Batch: {way}, {_spelled(size)}"
            found.append(_sorted(title, "rows_per_s", [_row(*end) for end in ends.items()]))
    return found


def _percentiles(title: str, seconds: list[float]) -> Panel:
    told = percentiles_ms(seconds)
    return Panel(title, "time_ms", [Row(name, "ours", Spread.of([value])) for name, value in told.items()])


def panels(run: dict[str, Any]) -> list[Panel]:
    found = _of_paths(run)
    for size, ways in run["sources"].items():
        title = f"Streams to nothing, {_spelled(size)}"
        found.append(_sorted(title, "rows_per_s", [_row(*way) for way in ways.items()]))
    replays = [
        Row(f"{_spelled(size)}, {way}", "ours", Spread.of(rates))
        for size, ways in run["replay"].items()
        for way, rates in ways.items()
    ]
    found.append(Panel("Replay as fast as it goes", "messages_per_s", replays))
    found.append(_percentiles("From a send into the lake", run["delay"]["delays_s"]))
    found.append(_percentiles("A micro-batch of one message", run["micro_batch_s"]))
    recordings = [
        Row(
            _spelled(size),
            "ours",
            Spread.of([told["published_per_s"] * told["recorded"] / told["published"]]),
        )
        for size, told in run.get("recording", {}).items()
    ]
    return (
        [*found, Panel("Recorded beside two publishers", "messages_per_s", recordings)]
        if recordings
        else found
    )


def _note(run: dict[str, Any]) -> str:
    machine = "{processor}, {processors} processors, Linux {kernel}, {python}".format(**run["machine"])
    rounds = max(len(rates) for ways in run["rates"].values() for rates in ways.values())
    spread = f"median of {rounds} rounds, the band is all of them" if rounds > 1 else "one round"
    return f"{machine}, {run['machine']['taken_at'][:10]}; {spread}{'; a quick run' if run['quick'] else ''}"


def draw(run: dict[str, Any], picture: Path) -> None:
    title = "Slipring in Spark, beside Spark's own files and sources"
    save(compose(panels(run), COLUMNS, title, LEGEND, _note(run)), picture)
