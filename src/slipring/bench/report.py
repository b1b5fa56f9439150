# SPDX-License-Identifier: Apache-2.0
"""A run as tables of text."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any, NamedTuple

from slipring.bench import summary
from slipring.bench.histogram import Histogram
from slipring.bench.other_load import TOLERATED
from slipring.bench.spelling import heading, spelled
from slipring.bench.suite import Suite
from slipring.bench.summary import Samples, more_is_better

Row = tuple[str, ...]
TAILS = ("p99_us", "p99.9_us", "max_us")


class Table(NamedTuple):
    title: str
    header: Row
    rows: list[Row]


def tail(samples: Samples, question: str, case: str, figure: str) -> float | None:
    """A percentile over all rounds together where there are histograms; else the median of the rounds."""
    texts = [
        each["histogram"]
        for each in summary.good(samples, question)
        if each["case"] == case and "histogram" in each
    ]
    if texts and figure in TAILS:
        whole = sum((Histogram.parse(text) for text in texts), Histogram())
        return whole.figures()[figure]
    found = summary.spread(samples, question, case, figure)
    return found.middle if found else None


def case_row(samples: Samples, question: str, figure: str, case: str, columns: tuple[str, ...]) -> Row:
    asked = [each for each in samples if each["question"] == question and each["case"] == case]
    found = summary.spread(samples, question, case, figure)
    if found is None:
        return (case, "failed", asked[0].get("error", "")[:60], *("-" for _ in columns), "")
    further = [(column, tail(samples, question, case, column)) for column in columns]
    cells = ["-" if value is None else spelled(column, value) for column, value in further]
    labels = Counter(each["placement"] for each in asked)
    placements = ", ".join(f"{count} {name}" for name, count in labels.most_common())
    spread = f"{spelled(figure, found.low)} - {spelled(figure, found.high)}"
    return (case, spelled(figure, found.middle), spread, *cells, placements)


def question_table(suite: Suite, samples: Samples, question: str) -> Table | None:
    """A row per case, those with the same settings together, the best first."""
    module = suite.questions[question]
    asked = [sample for sample in samples if sample["question"] == question]
    if not asked:
        return None
    figure: str = module.FIGURE
    columns = tuple(getattr(module, "FURTHER_FIGURES", ()))
    if any("cpu_s_per_million" in sample.get("figures", ()) for sample in asked):
        columns += ("cpu_s_per_million",)
    groups: dict[str, list[str]] = {}
    for sample in asked:
        cases = groups.setdefault(str(sample["settings"]), [])
        if sample["case"] not in cases:
            cases.append(sample["case"])

    def worst_last(case: str) -> float:
        found = summary.spread(samples, question, case, figure)
        return float("inf") if found is None else -found.middle if more_is_better(figure) else found.middle

    rows = [
        case_row(samples, question, figure, case, columns)
        for cases in groups.values()
        for case in sorted(cases, key=worst_last)
    ]
    return Table(
        module.TITLE, ("case", heading(figure), "by round", *map(heading, columns), "placement"), rows
    )


def tables(suite: Suite, run: dict[str, Any]) -> list[Table]:
    """One table for each question that the run asked."""
    found = (question_table(suite, run["samples"], question) for question in suite.questions)
    return [table for table in found if table]


def others_busy(samples: Samples) -> float:
    """How many processors other programs kept busy: the median of the samples."""
    return median(sample["other_load"] for sample in samples) if samples else 0.0


def remarks(suite: Suite, run: dict[str, Any]) -> list[str]:
    """What a reader of the tables has to know besides."""
    samples = run["samples"]
    found = [f"not measured: {name}: {reason}" for name, reason in run["left_out"].items()]
    unknown = dict.fromkeys(each["question"] for each in samples if each["question"] not in suite.questions)
    if unknown:
        found.append(
            f"not shown: {', '.join(unknown)}: in a checkout, run `python -m benchmarks --show FILE`"
        )
    others = others_busy(samples)
    if others > TOLERATED:
        found.append(f"disturbed: other programs kept {others:.2g} processors busy; measure again in quiet")
    rounds = len({sample["round"] for sample in samples})
    if rounds < run["plan"]["rounds"]:
        found.append(
            f"{rounds} of {run['plan']['rounds']} rounds, to end within {run['plan']['limit_s']:g} s"
        )
    return found
