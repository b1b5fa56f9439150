# SPDX-License-Identifier: Apache-2.0
"""``slipring report``: statistics of a recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from slipring.cli import spark_job
from slipring.cli.terminal import output
from slipring.cli.terminal.options import complete_lakes, format_option, master_option
from slipring.cli.terminal.output import Column
from slipring.cli.terminal.process_exit import complain, flush
from slipring.cli.terminal.progress_line import Line
from slipring.units import counted, duration, frequency, moment, number, quantity, size, speed

if TYPE_CHECKING:
    from slipring.pipelines.report import Findings

Row = dict[str, Any]
Spell = Callable[[Any], str]
_MOST = 20  # rows of a table on a terminal
_P = ("p50", "p90", "p99", "p99_9", "max")


@click.command(short_help="Show rates, sizes, delays, losses and calls of a recording.")
@click.argument("lake", shell_complete=complete_lakes)
@click.option(
    "--html", metavar="FILE", type=click.Path(dir_okay=False), help="Also write the report as a web page."
)
@master_option
@format_option()
def command(lake: str, html: str | None, master: str | None, form: str) -> None:
    """Show rates, sizes, delays, losses, fields and calls of the recording in the directory LAKE, topic by topic.

    Delays are from publishing to recording. Fields are the numeric fields of typed topics. Percentiles are exact to
    0.01 % of the ranks. --html writes the same as a page that needs no network.
    """
    from slipring.pipelines import jvm
    from slipring.pipelines.lake import Lake
    from slipring.pipelines.report import overview, report

    if form == "table":
        _put_summary(overview(Lake.open(lake)))
        flush()  # Spark takes seconds to start
    with jvm.of_a_command(complain):
        with Line("report", "messages") as line:
            found = spark_job.run(lambda show: report(lake, html=html, master=master, progress=show), line)
        if form == "json":
            output.put_json(found.to_json())
        else:
            _put(found)
        if html is not None:
            complain(f"the page is {html}")
        flush()  # before an archive is written


def _hz(rate: float) -> str:
    return f"{frequency(rate)}/s"


def _of(
    rows: list[Row], *columns: tuple[str, str, Spell | None], title: str, total: int | None = None
) -> None:
    """Show one table; a column is its heading, its name in the rows, and the format of its numbers (None: text)."""
    if not rows:
        return
    cells = [
        [
            "-" if row[name] is None else str(row[name]) if spell is None else spell(row[name])
            for _, name, spell in columns
        ]
        for row in rows[:_MOST]
    ]
    output.put_table(
        [Column(heading, right=spell is not None) for heading, _, spell in columns], cells, title
    )
    left = (len(rows) if total is None else total) - len(cells)
    output.put_line(f"… and {number(left)} more: --format json has them" if left > 0 else "")


def _percentiles(name: str, spell: Spell) -> list[tuple[str, str, Spell | None]]:
    return [(part.replace("_", "."), f"{name}_{part}", spell) for part in _P]


def _put_summary(totals: Row) -> None:
    if not totals["topics"]:
        output.put_line("nothing is recorded")
        return
    when = f", from {moment(totals['first_ns'])}" if totals["first_ns"] is not None else ""
    lost = f"{counted(totals['lost'], 'message')} lost" if totals["lost"] else "nothing lost"
    output.put_line(
        f"{counted(totals['messages'], 'message')} in {duration(totals['seconds'])}{when}: {lost}"
    )
    output.put_line("")


def _put(found: Findings) -> None:
    sent: list[tuple[str, str, Spell | None]] = [
        *(("messages", "messages", number), ("rate", "rate_hz", _hz), ("data", "bytes", size)),
        *(("speed", "bytes_per_s", speed), ("size p50", "size_p50", size), ("size max", "size_max", size)),
    ]
    topic = ("topic", "topic", None)
    losses: list[tuple[str, str, Spell | None]] = [("gaps", "gaps", number), ("lost", "lost", number)]
    _of(found.topics, topic, *sent, *losses, title="Topics")
    _of(found.senders, topic, ("sender", "sender", None), *sent, title="Senders")
    _of(found.topics, topic, *_percentiles("interval_s", duration), title="Time between messages")
    _of(found.topics, topic, *_percentiles("delay_s", duration), title="From publishing to recording")
    _put_fields(found)
    _put_calls(found)
    gap: list[tuple[str, str, Spell | None]] = [
        *(("sequence", "offset", number), ("lost", "lost", number), ("abandoned", "abandoned", number)),
        ("after", "at_ns", moment),
    ]
    _of(found.gaps, topic, *gap, title="Gaps", total=found.totals["gaps"])
    minute: list[tuple[str, str, Spell | None]] = [
        *(("minute", "minute_ns", moment), ("messages", "messages", number), ("data", "bytes", size)),
        *(("most on", "topic", None), ("there", "topic_messages", number)),
    ]
    _of(found.busiest, *minute, title="Busiest minutes")


def _put_fields(found: Findings) -> None:
    figures: list[tuple[str, str, Spell | None]] = [
        *(("topic", "topic", None), ("field", "field", None), ("minimum", "minimum", quantity)),
        *((name, name, quantity) for name in ("p5", "p25", "p50", "p75", "p95")),
        *(("maximum", "maximum", quantity), ("NaN", "nan", number), ("NULL", "null", number)),
    ]
    _of(found.fields, *figures, title="Fields")
    for row in found.undecodable:
        bad = counted(row["messages"], "undecodable message")
        output.put_line(f"{row['topic']}: {bad}, not among the fields; the first is {row['first']}")
    for topic, names in found.fields_left_out.items():
        output.put_line(
            f"{topic}: {counted(len(names), 'more field')} not computed: {', '.join(names[:_MOST])}"
        )
    for topic, why in found.fields_unread.items():
        output.put_line(f"{topic}: its fields are not known: {why}")
    if found.undecodable or found.fields_left_out or found.fields_unread:
        output.put_line("")


def _put_calls(found: Findings) -> None:
    method: list[tuple[str, str, Spell | None]] = [("service", "service", None), ("method", "method", None)]
    counts: list[tuple[str, str, Spell | None]] = [
        *(("calls", "calls", number), ("errors", "errors", number)),
        *(("given up", "cancelled", number), ("no answer", "open", number)),
    ]
    _of(found.calls, *method, *counts, *_percentiles("seconds", duration), title="Calls")
    failed: list[tuple[str, str, Spell | None]] = [("reason", "reason", None), ("error", "error", None)]
    _of(found.call_errors, *method, *failed, ("calls", "calls", number), title="Errors of calls")
