# SPDX-License-Identifier: Apache-2.0
"""A run as tables: rows of text for whoever prints them."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any, NamedTuple

from slipring.bench import summary
from slipring.bench.bars import Samples, more_is_better
from slipring.bench.bystanders import TOLERATED
from slipring.bench.histogram import Histogram
from slipring.bench.questions import QUESTIONS
from slipring.bench.spelling import heading, number, spelled
from slipring.bench.targets import TARGETS

Row = tuple[str, ...]
TAILS = ("p99_us", "p99.9_us", "max_us")


class Table(NamedTuple):
    title: str
    header: Row
    rows: list[Row]


def tail(samples: Samples, question: str, case: str, figure: str) -> float | None:
    """A percentile over all rounds together, where histograms tell it; else the rounds' median."""
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


def case_row(samples: Samples, question: str, case: str, columns: tuple[str, ...]) -> Row:
    asked = [each for each in samples if each["question"] == question and each["case"] == case]
    figure: str = QUESTIONS[question].FIGURE
    found = summary.spread(samples, question, case, figure)
    if found is None:
        return (case, "failed", asked[0].get("error", "")[:60], *("-" for _ in columns), "")
    further = [(column, tail(samples, question, case, column)) for column in columns]
    cells = ["-" if value is None else spelled(column, value) for column, value in further]
    labels = Counter(each["placement"] for each in asked)
    placements = ", ".join(f"{count} {name}" for name, count in labels.most_common())
    spread = f"{spelled(figure, found.low)} - {spelled(figure, found.high)}"
    return (case, spelled(figure, found.middle), spread, *cells, placements)


def question_table(samples: Samples, question: str) -> Table | None:
    """A row per case, those with the same settings together, the best first."""
    module = QUESTIONS[question]
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
        case_row(samples, question, case, columns)
        for cases in groups.values()
        for case in sorted(cases, key=worst_last)
    ]
    return Table(
        module.TITLE, ("case", heading(figure), "by round", *map(heading, columns), "placement"), rows
    )


def target_rows(targets: list[dict[str, Any]]) -> list[Row]:
    rows: list[Row] = []
    for each in targets:
        if "value" not in each:
            rows.append((each["target"], each["wanted"], "-", "", "", "", each["verdict"]))
            continue
        unit = each["unit"]
        value, low, high = (number(each[name]) for name in ("value", "low", "high"))
        against = each["against"].split(" ")[0]
        rows.append(
            (
                each["target"],
                each["wanted"],
                f"{value}{unit}",
                f"{low} - {high}",
                against,
                each["placement"],
                each["verdict"],
            )
        )
    return rows


def tables(run: dict[str, Any]) -> list[Table]:
    """All tables of a run: a question each, then the targets that it asked for."""
    samples = run["samples"]
    found = [table for question in QUESTIONS if (table := question_table(samples, question))]
    header = ("target (ours: the other)", "wanted", "is", "by round", "the other", "placement", "")
    asked = target_rows(asked_targets(run))
    return [*found, Table("Targets", header, asked)] if asked else found


def asked_targets(run: dict[str, Any]) -> list[dict[str, Any]]:
    """The targets of the questions that --only chose; all of them if it chose none."""
    only = run["plan"]["only"]
    chosen = {bar.promise for bar in TARGETS if bar.ours[0] in only}
    return [each for each in run["targets"] if not only or each["target"] in chosen]


def others_busy(samples: Samples) -> float:
    """How many processors other programs kept busy, in the middle of the samples."""
    return median(sample["bystanders"] for sample in samples) if samples else 0.0


def remarks(run: dict[str, Any]) -> list[str]:
    """What a reader of the tables has to know besides."""
    said = [f"not measured: {name}: {reason}" for name, reason in run["left_out"].items()]
    others = others_busy(run["samples"])
    if others > TOLERATED:
        said.append(f"disturbed: other programs kept {others:.2g} processors busy; measure again in quiet")
    rounds = len({sample["round"] for sample in run["samples"]})
    if rounds < run["plan"]["rounds"]:
        said.append(f"{rounds} of {run['plan']['rounds']} rounds, to end within {run['plan']['limit_s']:g} s")
    return said
