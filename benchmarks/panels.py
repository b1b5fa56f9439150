# SPDX-License-Identifier: Apache-2.0
"""The panels of a picture of a run: rows of a figure, the best first; each is ours, a rival or a C program.

The kind of a C program is "floor", as it is called in a run's results. It is a reference: it does the same without
Python, in rounds of its own, so that another transport can be ahead of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.suite import kind_of
from slipring.bench import summary
from slipring.bench.spelling import heading
from slipring.bench.summary import Samples, more_is_better

LEGEND = {"ours": "Slipring", "rival": "others", "floor": "C without Python, for reference"}


@dataclass(frozen=True)
class Row:
    name: str
    kind: str  # "ours", "rival" or "floor"
    spread: summary.Spread


@dataclass(frozen=True)
class Panel:
    title: str
    figure: str
    rows: list[Row]

    @property
    def reference(self) -> Row | None:
        """The best C program."""
        return next((row for row in self.rows if row.kind == "floor"), None)

    @property
    def note(self) -> str:
        """What the scale is, and what is ahead of the reference: its row is not the first then."""
        scale = f"{heading(self.figure)}, {'more' if more_is_better(self.figure) else 'less'} is better"
        at = self.rows.index(self.reference) if self.reference else 0
        if not at or self.reference is None:
            return scale
        return f"{scale}; {', '.join(row.name for row in self.rows[:at])} ahead of {self.reference.name} in this run"


@dataclass(frozen=True)
class View:
    """A question, a figure of it, and the settings of the cases that are shown."""

    title: str
    question: str
    figure: str
    settings: str = ""

    def of(self, samples: Samples) -> Panel | None:
        found: dict[str, Row] = {}
        for sample in summary.good(samples, self.question):
            name, case = sample["transport"], sample["case"]
            spread = summary.spread(samples, self.question, case, self.figure)
            if spread and case == f"{name} {self.settings}".strip():
                found[name] = Row(name, kind_of(name), spread)
        best_first = more_is_better(self.figure)
        rows = sorted(found.values(), key=lambda row: row.spread.middle, reverse=best_first)
        return Panel(self.title, self.figure, rows) if rows else None


# Three in a row: those with many rivals first.
VIEWS = (
    View("64 B, one message a call", "throughput", "messages_per_s", "size=64"),
    View("Round trip of 64 B, median", "round_trip", "p50_us"),
    View("1 MiB, copied in and out", "throughput", "messages_per_s", "size=1048576"),
    View("64 B, many messages a call", "batches", "messages_per_s", "size=64"),
    View("Fan-out to 4", "fanout", "deliveries_per_s", "subscribers=4"),
    View("A call with 64 B, median", "calls", "p50_us"),
)


def panels(samples: Samples) -> list[Panel]:
    """Those for which there are samples."""
    return [panel for view in VIEWS if (panel := view.of(samples))]
