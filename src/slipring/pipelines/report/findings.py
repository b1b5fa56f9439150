# SPDX-License-Identifier: Apache-2.0
"""The contents of a report, computed once as plain data: for the terminal, for JSON and for the page.

Lists that could be as long as the recording are cut: gaps to the largest ones, others to their first rows. ``cut`` has
the number of omitted rows.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from .calls import CALLS_TOPIC, REPLY_TOPIC
from .dataframes import Report
from .fields import found_rows
from .fields import table as field_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from slipring.pipelines.lake import Lake

Row = dict[str, Any]
MOST_ROWS = 1000
MOST_DRAWN = 24  # topics that are drawn
STEPS = 240  # of a drawing over time
MINUTES = 10
AT_ONCE = 3  # jobs
_WIDTHS_S = (
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1,
    2,
    5,
    10,
    30,
    60,
    120,
    300,
    600,
    1800,
    3600,
)


@dataclass
class Findings:
    """The tables of a report as lists of rows. ``totals`` adds them up; ``cut`` counts the omitted rows."""

    name: str
    made_ns: int
    totals: Row = field(default_factory=dict)
    topics: list[Row] = field(default_factory=list)
    senders: list[Row] = field(default_factory=list)
    types: list[Row] = field(default_factory=list)
    gaps: list[Row] = field(default_factory=list)
    busiest: list[Row] = field(default_factory=list)
    calls: list[Row] = field(default_factory=list)
    call_errors: list[Row] = field(default_factory=list)
    malformed_calls: list[Row] = field(default_factory=list)
    fields: list[Row] = field(default_factory=list)
    fields_left_out: dict[str, list[str]] = field(default_factory=dict)  # by topic, beyond the limit
    fields_unread: dict[str, str] = field(default_factory=dict)  # by topic, why its schema cannot be used
    undecodable: list[Row] = field(default_factory=list)  # by topic, bodies that do not fit the schema
    rates: list[Row] = field(default_factory=list)
    rate_step_s: float = 1.0
    distributions: list[Row] = field(default_factory=list)
    cut: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> Row:
        found = asdict(self)
        for row in found["fields"]:  # JSON has no infinity
            row.update({name: str(value) for name, value in row.items() if value in (math.inf, -math.inf)})
        return found

    def _repr_html_(self) -> str:
        """For a notebook."""
        from slipring.pipelines.notebook_html import of_findings

        return of_findings(self)


def find(report: Report, name: str) -> Findings:
    """Compute all tables of a report."""
    found = Findings(name, time.time_ns())
    with report:
        found.topics = _rows(report.topics())
        known = _totals(found)  # all but the calls
        found.rate_step_s = step_s(known["seconds"])
        drawn = busiest_topics(found.topics)
        rates = report.rates(found.rate_step_s, known["first_ns"] or 0)
        drawings = {"rates": rates, "distributions": report.distributions()}
        jobs: dict[str, Callable[[], list[Row]]] = {
            table: partial(_cut, table, rows, found.cut)
            for table, rows in _tables(report, found.topics).items()
        }
        jobs |= {
            table: partial(_rows, rows.where(rows.topic.isin(drawn))) for table, rows in drawings.items()
        }
        known_fields = report.known
        found.fields_left_out, found.fields_unread = known_fields.left_out, known_fields.unread
        if known_fields.schemas:
            jobs["fields"] = lambda: _rows(field_table(report.rows, known_fields))
        with ThreadPoolExecutor(AT_ONCE) as threads:  # Spark plans one while it computes another
            for table, rows in zip(jobs, threads.map(lambda job: job(), jobs.values()), strict=True):
                setattr(found, table, rows)
        if known_fields.schemas:
            found.fields, found.undecodable = found_rows(found.fields, known_fields)
        found.gaps.sort(key=lambda row: (row["at_ns"], row["topic"], row["offset"]))
        found.totals = _totals(found)
    return found


def _tables(report: Report, topics: list[Row]) -> dict[str, DataFrame]:
    """Return the tables that can have rows. Each is a job of Spark's."""
    tables = {"senders": report.senders(), "types": report.types(), "busiest": report.busiest(MINUTES)}
    if any(row["gaps"] for row in topics):
        tables["gaps"] = report.gaps().orderBy("lost", "span", "at_ns", ascending=[False, False, True])
    if any(re.match(f"{CALLS_TOPIC}|{REPLY_TOPIC}", row["topic"]) for row in topics):
        tables["calls"], tables["call_errors"] = report.calls(), report.call_errors()
        tables["malformed_calls"] = report.malformed_calls()
    return tables


def _rows(table: DataFrame) -> list[Row]:
    return [row.asDict() for row in table.collect()]


def _cut(name: str, table: DataFrame, cut: dict[str, int]) -> list[Row]:
    rows = _rows(table.limit(MOST_ROWS + 1))
    if len(rows) > MOST_ROWS:
        cut[name] = table.count() - MOST_ROWS
    return rows[:MOST_ROWS]


def overview(lake: Lake) -> Row:
    """Return those totals that the log of the lake has. It needs no Spark, and so no time."""
    files = lake.state.files.values()
    runs = [run for file in files for run in file.runs]
    return {
        "messages": sum(run.messages for run in runs),
        "lost": sum(run.lost for run in runs),
        "topics": len({file.topic for file in files}),
        **_times((file.first_time_ns for file in files), (file.last_time_ns for file in files)),
    }


def _totals(found: Findings) -> Row:
    sums = {name: sum(row[name] for row in found.topics) for name in ("messages", "bytes", "gaps", "lost")}
    calls = {name: sum(row[name] for row in found.calls) for name in ("calls", "errors")}
    times = _times((row["first_ns"] for row in found.topics), (row["last_ns"] for row in found.topics))
    return {**sums, **calls, "topics": len(found.topics), **times}


def _times(firsts: Iterable[int | None], lasts: Iterable[int | None]) -> Row:
    first_ns = min((at for at in firsts if at is not None), default=None)
    last_ns = max((at for at in lasts if at is not None), default=None)
    seconds = (last_ns - first_ns) / 1e9 if first_ns is not None and last_ns is not None else 0.0
    return {"first_ns": first_ns, "last_ns": last_ns, "seconds": seconds}


def step_s(seconds: float) -> float:
    """Return the width of a step for which a recording of that length has at most STEPS of them."""
    for width in _WIDTHS_S:
        if seconds <= width * STEPS:
            return float(width)
    return float(-(-seconds // (86_400 * STEPS)) * 86_400)


def busiest_topics(topics: list[Row]) -> list[str]:
    """Return the topics with most messages, in order of name."""
    most = sorted(topics, key=lambda row: (-(row["messages"] + row["lost"]), row["topic"]))[:MOST_DRAWN]
    return sorted(row["topic"] for row in most)


def by_topic(rows: list[Row]) -> Mapping[str, list[Row]]:
    """Return rows grouped by topic."""
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row["topic"], []).append(row)
    return grouped
