# SPDX-License-Identifier: Apache-2.0
"""Prints the figures as tables: with rich when it is there, else in plain columns."""

from collections.abc import Callable, Iterable
from statistics import median

from benchmarks import summary
from benchmarks.bars import BARS
from benchmarks.bystanders import TOLERATED
from benchmarks.questions import QUESTIONS

Row = tuple[str, ...]


def number(value: float) -> str:
    """Three digits with a unit prefix: 13.4 M, 502 k, 0.48."""
    for limit, prefix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= limit:
            return f"{value / limit:.3g}{prefix}"
    return f"{value:.3g}"


def spread_rows(samples: list[dict], question: str, columns: Iterable[str]) -> list[Row]:
    """A row per case as measured: min, median, max of the figure, medians of the further columns."""
    figure = QUESTIONS[question].FIGURE
    asked = [sample for sample in samples if sample["question"] == question]
    rows = []
    for case in dict.fromkeys(sample["case"] for sample in asked):
        spread = summary.spread(samples, question, case, figure)
        if spread is None:
            reason = next(sample["error"] for sample in asked if sample["case"] == case)
            rows.append((case, "-", f"failed: {reason[:60]}", "-", *("-" for _ in columns), ""))
            continue
        further = [summary.spread(samples, question, case, column) for column in columns]
        labels = [sample["placement"] for sample in asked if sample["case"] == case]
        placements = ", ".join(f"{labels.count(each)} {each}" for each in dict.fromkeys(labels))
        middle = [number(each.middle) if each else "-" for each in further]
        rows.append(
            (case, number(spread.low), number(spread.middle), number(spread.high), *middle, placements)
        )
    return rows


def bar_rows(samples: list[dict]) -> list[Row]:
    rows: list[Row] = []
    asked = {sample["question"] for sample in samples}
    for bar in BARS:
        found = bar.measured(samples)
        if bar.ours[0] not in asked:
            continue
        if found is None:
            rows.append((bar.promise, bar.limit_text, "-", "", "", "not measured"))
            continue
        verdict = "met" if bar.met(found) else "MISSED"
        between = f"{found.low:.3g} - {found.high:.3g}"
        rows.append((bar.promise, bar.limit_text, f"{found.value:.3g}x", between, found.placement, verdict))
    return rows


def plain_table(title: str, header: Row, rows: list[Row]) -> None:
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    print(f"\n{title}")
    for row in [header, tuple("-" * width for width in widths), *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def rich_table(title: str, header: Row, rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold")
    for column, name in enumerate(header):
        table.add_column(name, justify="left" if column == 0 else "right")
    colours = {"met": "green", "MISSED": "red"}
    for row in rows:
        ours = row[0].startswith("slipring")
        table.add_row(*row, style=colours.get(row[-1], "cyan" if ours else ""))
    Console(width=max(110, Console().width)).print(table)


def table_printer() -> Callable[[str, Row, list[Row]], None]:
    try:
        import rich.table  # noqa: F401 - only whether it is there
    except ImportError:
        return plain_table
    return rich_table


def show(samples: list[dict]) -> None:
    print_table = table_printer()
    for question, module in QUESTIONS.items():
        further = getattr(module, "FURTHER_FIGURES", ())
        if rows := spread_rows(samples, question, further):
            header = ("case", "min", f"median {module.FIGURE}", "max", *further, "placement")
            print_table(module.TITLE, header, rows)
    header = ("bar", "wanted", "ratio", "by round", "placement", "")
    print_table("Bars (ratio of medians; ours / the other)", header, bar_rows(samples))
    others = median(sample["bystanders"] for sample in samples)
    if others > TOLERATED:
        print(f"\nDisturbed: other programs kept {others:.2g} processors busy; measure again in quiet.")
