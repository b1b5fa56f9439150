# SPDX-License-Identifier: Apache-2.0
"""``slipring top``: the traffic of all topics, live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import NamedTuple

import click

import slipring
from slipring.cli.terminal import output
from slipring.cli.terminal.counters import Traffic, survey, traffic
from slipring.cli.terminal.options import Target, format_option, period, sleep_until
from slipring.cli.terminal.output import Column
from slipring.cli.terminal.top_screen import Screen, View, matches
from slipring.units import counted, frequency, number, printable, speed

_COLUMNS = (
    Column("topic"),
    Column("msg/s", right=True),
    Column("bytes/s", right=True),
    Column("publishers", right=True),
    Column("readers", right=True),
    Column("worst lag", right=True),
    Column("lost", right=True),
    Column("lost/s", right=True),
)
_ORDERS: dict[str, Callable[[Traffic], tuple[float | str, ...]]] = {
    "rate": lambda row: (-row.messages_per_s, row.topic),
    "bytes": lambda row: (-row.bytes_per_s, row.topic),
    "lag": lambda row: (-row.worst_lag, row.topic),
    "lost": lambda row: (-row.lost, row.topic),
    "name": lambda row: (row.topic,),
}


@click.command()
@click.option(
    "--interval", type=period, metavar="SECONDS", default=1.0, show_default=True, help="Time between samples."
)
@click.option("--once", is_flag=True, help="Print one sample and end.")
@click.option(
    "--sort", type=click.Choice(list(_ORDERS)), default="rate", show_default=True, help="Order of the rows."
)
@click.option(
    "--filter",
    "pattern",
    default="",
    metavar="TEXT",
    help="Show only names with TEXT in them, or names like 'cam.*'.",
)
@format_option()
@click.pass_obj
def command(target: Target, interval: float, once: bool, sort: str, pattern: str, form: str) -> None:
    """Watch all topics: rates, readers, losses, and the largest lag of any reader or cursor.

    All figures are differences of the topics' counters over one interval; no process is delayed. --format json prints
    one object per sample and line. Keys on a terminal: q ends, arrows and PgUp, PgDn, Home, End scroll, s sorts by the
    next column, / filters; the last line shows the number of hidden topics.
    """
    with target.open() as bus:
        samples = Samples(bus, interval)
        if form == "table" and output.on_terminal() and not once:
            _watch(samples, View(tuple(_ORDERS), sort, pattern))
            return
        while True:
            sleep_until(samples.due)
            sample = samples.take()
            rows, hidden = sample.selected(sort, pattern)
            if form == "json":
                output.put_json(sample.record(rows))
            else:
                output.put_table(_COLUMNS, rows_of_text(rows, sample.problems))
                if hidden:
                    output.put_line(f"{counted(hidden, 'topic')} hidden by --filter {pattern!r}")
            if once:
                return
            if form == "table":
                output.put_line("")


class Sample(NamedTuple):
    """Return the differences between two surveys."""

    time_ns: int
    interval_s: float
    traffic: list[Traffic]
    problems: dict[str, str]

    def selected(self, order: str, pattern: str) -> tuple[list[Traffic], int]:
        """Return the topics whose names match, in order, and the number of the others."""
        rows = [row for row in self.traffic if matches(row.topic, pattern)]
        return sorted(rows, key=_ORDERS[order]), len(self.traffic) - len(rows)

    def record(self, rows: list[Traffic]) -> dict[str, object]:
        return {
            "time_ns": self.time_ns,
            "interval_s": self.interval_s,
            "topics": [asdict(row) for row in rows],
            "problems": self.problems,
        }


class Samples:
    """Surveys of a bus at intervals; ``due`` is the time of the next one."""

    def __init__(self, bus: slipring.Bus, interval_s: float) -> None:
        self.bus = bus
        self._interval_s = interval_s
        self._before = survey(bus)
        self.due = self._before.taken_s + interval_s

    def take(self) -> Sample:
        before, after = self._before, survey(self.bus)
        self._before = after
        self.due = max(self.due + self._interval_s, after.taken_s)
        return Sample(after.time_ns, after.taken_s - before.taken_s, traffic(before, after), after.problems)


def _watch(samples: Samples, view: View) -> None:
    """Draw the screen until q is pressed, after each key and each sample."""
    bus = samples.bus
    title = f"bus {printable(bus.name)}  {printable(bus.root)}"
    sample = Sample(0, 0.0, [], {})  # until the first one exists
    with Screen() as screen:
        screen.draw([title, "measuring ...", "", "q quit"])
        while True:
            key = screen.key(samples.due)
            height, width = screen.size()
            if key is None:
                sample = samples.take()
            elif not view.press(key, max(height - 3, 1)):
                return
            rows, hidden = sample.selected(view.order, view.pattern)
            problems = {topic: problem.partition(":")[0] for topic, problem in sample.problems.items()}
            heading, *lines = output.plain(_COLUMNS, rows_of_text(rows, problems)).splitlines()
            screen.draw(view.lines(title, heading, lines, hidden, height, width))


def rows_of_text(rows: list[Traffic], problems: dict[str, str]) -> list[list[str]]:
    seen = [
        [
            row.topic,
            frequency(row.messages_per_s),
            speed(row.bytes_per_s),
            str(row.publishers),
            str(row.readers),
            number(row.worst_lag),
            number(row.lost),
            frequency(row.lost_per_s),
        ]
        for row in rows
    ]
    unread = [[f"{topic} ({problem})", *("-" for _ in _COLUMNS[1:])] for topic, problem in problems.items()]
    return seen + unread
