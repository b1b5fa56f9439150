# SPDX-License-Identifier: Apache-2.0
"""A target: a figure of ours beside another case's of the same run, and what is wanted of it; and targets as a table.

Mostly a ratio, because no machine owes us a time. ``Fastest`` leaves it to the run's own figures which rival is meant;
a figure that stands alone (a share, a bound in µs) has no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.suite import ALL, is_rival
from slipring.bench import summary
from slipring.bench.report import Row, Table
from slipring.bench.spelling import number
from slipring.bench.summary import Samples, more_is_better

Which = tuple[str, str]  # a question and a case of it


@dataclass(frozen=True)
class Finding:
    """What a run found: the value, its spread from round to round, and what it was compared with."""

    value: float
    low: float
    high: float
    placement: str
    against: str


@dataclass(frozen=True)
class Fastest:
    """The best of the rivals that answered a question with these settings."""

    question: str
    settings: str = ""
    polls: bool | None = None  # only those that ask again and again, or only those that sleep

    def among(self, samples: Samples, figure: str) -> Which | None:
        best: tuple[float, str] | None = None
        for sample in summary.good(samples, self.question):
            transport, case = sample["transport"], sample["case"]
            meant = is_rival(transport) and case == f"{transport} {self.settings}".strip()
            if not meant or self.polls not in (None, ALL.homes[transport].polls):
                continue
            spread = summary.spread(samples, self.question, case, figure)
            if spread is None:
                continue
            score = spread.middle if more_is_better(figure) else -spread.middle
            best = max(best or (score, case), (score, case))
        return (self.question, best[1]) if best else None


Other = Which | Fastest | None


@dataclass(frozen=True)
class Target:
    promise: str
    figure: str
    ours: Which
    other: Other
    limit: float
    wanted: Literal["at least", "at most"]
    unit: str = "x"
    placement: str | None = None  # a figure that stands alone counts only there

    def measured(self, samples: Samples) -> Finding | None:
        """None when the run did not measure it."""
        if self.other is None:
            return self._alone(samples)
        other = self.other.among(samples, self.figure) if isinstance(self.other, Fastest) else self.other
        found = summary.ratio(samples, self.figure, self.ours, other) if other else None
        if found is None or other is None:
            return None
        return Finding(found.value, found.low, found.high, found.placement, other[1])

    def _alone(self, samples: Samples) -> Finding | None:
        found = summary.spread(samples, *self.ours, self.figure, self.placement)
        if found is None:
            return None
        return Finding(found.middle, found.low, found.high, self.placement or "any", "")

    def met(self, value: float) -> bool:
        return value >= self.limit if self.wanted == "at least" else value <= self.limit

    @property
    def limit_text(self) -> str:
        return f"{'≥' if self.wanted == 'at least' else '≤'} {number(self.limit)}{self.unit}"

    def verdict(self, samples: Samples) -> dict[str, Any]:
        """As it is kept with a run."""
        about: dict[str, Any] = {"target": self.promise, "wanted": self.limit_text, "figure": self.figure}
        found = self.measured(samples)
        if found is None:
            return {**about, "verdict": "not measured"}
        return {
            **about,
            "ours": self.ours[1],
            "against": found.against,
            "value": found.value,
            "low": found.low,
            "high": found.high,
            "unit": self.unit,
            "placement": found.placement,
            "verdict": "met" if self.met(found.value) else "MISSED",
        }


def table_rows(verdicts: list[dict[str, Any]]) -> list[Row]:
    rows: list[Row] = []
    for each in verdicts:
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


def table(verdicts: list[dict[str, Any]]) -> Table:
    header = ("target (ours: the other)", "wanted", "is", "by round", "the other", "placement", "")
    return Table("Targets", header, table_rows(verdicts))
