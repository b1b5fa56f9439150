# SPDX-License-Identifier: Apache-2.0
"""``slipring top``: the traffic of all topics, live."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict

import click

import slipring
from slipring.cli import tables
from slipring.cli.options import Target, format_option, period, sleep_until
from slipring.cli.survey import Survey, Traffic, survey, traffic
from slipring.cli.tables import Column
from slipring.cli.units import frequency, number, speed

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


@click.command(short_help="Watch the traffic of all topics.")
@click.option(
    "--interval", type=period, metavar="SECONDS", default=1.0, show_default=True, help="Time between samples."
)
@click.option("--once", is_flag=True, help="One sample, then end.")
@click.option(
    "--sort", type=click.Choice(list(_ORDERS)), default="rate", show_default=True, help="What comes first."
)
@format_option()
@click.pass_obj
def command(target: Target, interval: float, once: bool, sort: str, form: str) -> None:
    """Watch all topics: rates, readers, the worst lag of any reader or cursor, losses.

    Everything comes from counters in the topics, at two moments one interval apart; no process is asked or
    delayed. With --format json, one object per sample and line.
    """
    with target.open() as bus:
        samples = _samples(bus, interval, sort)
        if form == "table" and tables.on_terminal() and not once:
            _watch(bus, samples)
            return
        for before, after, rows in samples:
            if form == "json":
                tables.put_json(_record(before, after, rows))
            else:
                tables.put_table(_COLUMNS, _cells(after, rows))
            if once:
                return
            if form == "table":
                tables.put_line("")


def _samples(bus: slipring.Bus, interval: float, sort: str) -> Iterator[tuple[Survey, Survey, list[Traffic]]]:
    before = survey(bus)
    due = before.taken_s
    while True:
        due = max(due + interval, before.taken_s)
        sleep_until(due)
        after = survey(bus)
        yield before, after, sorted(traffic(before, after), key=_ORDERS[sort])
        before = after


def _watch(bus: slipring.Bus, samples: Iterator[tuple[Survey, Survey, list[Traffic]]]) -> None:
    from rich.live import Live

    title = f"bus {bus.name}  {bus.root}  (Ctrl-C ends)"
    with Live(tables.rich_table(_COLUMNS, [], title), screen=True, auto_refresh=False) as live:
        for _before, after, rows in samples:
            live.update(tables.rich_table(_COLUMNS, _cells(after, rows), title), refresh=True)


def _record(before: Survey, after: Survey, rows: list[Traffic]) -> dict[str, object]:
    return {
        "time_ns": after.time_ns,
        "interval_s": after.taken_s - before.taken_s,
        "topics": [asdict(row) for row in rows],
        "problems": after.problems,
    }


def _cells(after: Survey, rows: list[Traffic]) -> list[list[str]]:
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
    unread = [
        [f"{topic} ({problem})", *("-" for _ in _COLUMNS[1:])] for topic, problem in after.problems.items()
    ]
    return seen + unread
