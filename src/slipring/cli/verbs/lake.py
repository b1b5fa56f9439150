# SPDX-License-Identifier: Apache-2.0
"""``slipring lake ls|verify|compact``: recordings on disk, without Spark."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from slipring.cli.terminal import output
from slipring.cli.terminal.options import complete_lakes, format_option, seconds
from slipring.cli.terminal.output import Column
from slipring.cli.terminal.process_exit import complain
from slipring.cli.terminal.progress_line import Line
from slipring.units import counted, moment, number, size

if TYPE_CHECKING:
    from slipring.pipelines.lake.generations import Generation

_COLUMNS = (
    Column("topic"),
    Column("generation"),
    Column("offsets"),
    Column("messages", right=True),
    Column("lost", right=True),
    Column("abandoned", right=True),
    Column("size", right=True),
    Column("files", right=True),
    Column("first"),
    Column("last"),
)


@click.group(short_help="List, verify and compact recordings.")
def command() -> None:
    """List, verify and compact the recordings of `slipring record` on disk."""


@command.command(short_help="List the recorded topics.")
@click.argument("lake", shell_complete=complete_lakes)
@format_option()
def ls(lake: str, form: str) -> None:
    """List the recorded topics in LAKE: one row for each topic and generation."""
    from slipring.pipelines.lake import Lake
    from slipring.pipelines.lake.generations import contents

    found = Lake.open(lake)
    generations = contents(found)
    if form == "json":
        for one in generations:
            output.put_json(one.to_json())
    else:
        output.put_table(_COLUMNS, [_row(one) for one in generations])
    for session in found.state.sessions.values():
        if not session.finished:
            complain(f"recording {session.id} is open: the next `slipring record` continues it")


def _row(one: Generation) -> list[str]:
    return [
        one.topic,
        one.generation,
        " ".join(f"{run.first}-{run.end - 1}" for run in one.runs),
        number(one.messages),
        number(one.lost),
        number(one.abandoned),
        size(one.bytes),
        number(one.files),
        "-" if one.first_time_ns is None else moment(one.first_time_ns),
        "-" if one.last_time_ns is None else moment(one.last_time_ns),
    ]


@command.command(short_help="Check that nothing is missing or damaged.")
@click.argument("lake", shell_complete=complete_lakes)
@format_option("text")
def verify(lake: str, form: str) -> int:
    """Check every log entry, file and row of LAKE.

    A complete lake has unchanged files, no message twice, and within a recording contiguous offsets of each topic, with
    gaps recorded. Each error is named, and the exit code is then 1.
    """
    from slipring.pipelines.job_progress import Meter
    from slipring.pipelines.lake.verify import verify as look

    meter = Meter()
    with Line("verifying") as line:
        verdict = look(lake, lambda rows, count: line(meter.figures(rows, count)))
    messages = sum(one.messages for one in verdict.generations)
    lost = sum(one.lost for one in verdict.generations)
    if form == "json":
        facts = {"complete": verdict.complete, "problems": [asdict(one) for one in verdict.problems]}
        counts = {name: getattr(verdict, name) for name in ("entries", "files", "rows", "bytes")}
        output.put_json({**facts, **counts, "messages": messages, "lost": lost})
    else:
        for problem in verdict.problems:
            output.put_line(f"{problem.where}: {problem.what}")
        state = "complete" if verdict.complete else counted(len(verdict.problems), "problem")
        output.put_line(
            f"{state}: {counted(messages, 'message')}, {number(lost)} lost, "
            f"in {counted(verdict.files, 'file')} ({size(verdict.bytes)})"
        )
    return 0 if verdict.complete else 1


@command.command(short_help="Merge small files.")
@click.argument("lake", shell_complete=complete_lakes)
@click.option(
    "--target",
    default=128,
    show_default=True,
    type=click.IntRange(min=1),
    metavar="MiB",
    help="Size of a file.",
)
@click.option(
    "--keep",
    "keep_s",
    type=seconds,
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for which replaced files are kept for their readers.",
)
@format_option("text")
def compact(lake: str, target: int, keep_s: float, form: str) -> None:
    """Merge the small files of LAKE for each topic and day. The recorded messages stay the same.

    Other processes may read or record meanwhile.
    """
    from slipring.pipelines.lake import Lake
    from slipring.pipelines.lake.compact import compact as merge

    done = merge(Lake.open(lake), target_bytes=target << 20, keep_s=keep_s)
    if form == "json":
        output.put_json(asdict(done))
        return
    output.put_line(
        f"{counted(done.merged, 'file')} merged into {number(done.into)}; "
        f"{counted(done.cleared, 'replaced file')} deleted"
    )
