# SPDX-License-Identifier: Apache-2.0
"""From samples to figures: spread per case, and ratios that compare only samples of the same placement."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import Any

Samples = list[dict[str, Any]]


@dataclass(frozen=True)
class Spread:
    low: float
    middle: float
    high: float
    samples: int

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        return cls(min(values), median(values), max(values), len(values))


@dataclass(frozen=True)
class Ratio:
    """How many times the first case's figure the second's is, in the middle and from round to round."""

    value: float
    low: float
    high: float
    placement: str


def more_is_better(figure: str) -> bool:
    return figure.endswith(("_per_s", "_share"))


def good(samples: Samples, question: str) -> Samples:
    return [sample for sample in samples if sample["question"] == question and "figures" in sample]


def figures(
    samples: Samples, question: str, case: str, figure: str, placement: str | None = None
) -> dict[int, float]:
    """The figure of one case by round."""
    return {
        sample["round"]: sample["figures"][figure]
        for sample in good(samples, question)
        if sample["case"] == case and placement in (None, sample["placement"]) and figure in sample["figures"]
    }


def spread(
    samples: Samples, question: str, case: str, figure: str, placement: str | None = None
) -> Spread | None:
    values = list(figures(samples, question, case, figure, placement).values())
    return Spread.of(values) if values else None


def ratio(samples: Samples, figure: str, above: tuple[str, str], below: tuple[str, str]) -> Ratio | None:
    """``above`` divided by ``below``, each a (question, case); near with near, far with far."""
    shared: Counter[str | None] = Counter()
    for each in ("near", "far", "unknown"):
        numbers = [len(figures(samples, *which, figure, each)) for which in (above, below)]
        shared[each] = min(numbers)
    placement: str | None
    placement, number = shared.most_common(1)[0]
    if number == 0:
        # No common placement in this run: report a figure, marked as such, rather than none.
        placement = None
    tops, bottoms = (figures(samples, *which, figure, placement) for which in (above, below))
    if not tops or not bottoms:
        return None
    if min(bottoms.values()) <= 0:
        return None
    by_round = [tops[turn] / bottoms[turn] for turn in tops.keys() & bottoms.keys()]
    middle = median(tops.values()) / median(bottoms.values())
    return Ratio(middle, min(by_round, default=middle), max(by_round, default=middle), placement or "mixed")
