# SPDX-License-Identifier: Apache-2.0
"""``slipring record``: record topics into a lake, with Spark."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from slipring.cli.terminal import output
from slipring.cli.terminal.options import Target, complete_lakes, complete_topics, period, seconds
from slipring.cli.terminal.process_exit import Stopped, complain, flush
from slipring.cli.terminal.progress_line import Line
from slipring.units import counted, duration, number

if TYPE_CHECKING:
    from slipring.pipelines.record.finish import Summary

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_EVERYTHING = "everything"


def _pre_buffer(value: str) -> float | bool:
    return True if value == _EVERYTHING else period(value)


@click.command(short_help="Record topics into a lake.")
@click.argument("topics", nargs=-1, shell_complete=complete_topics)
@click.option(
    "--to",
    "lake",
    required=True,
    metavar="DIR",
    shell_complete=complete_lakes,
    help="Directory of the lake; created if it is missing.",
)
@click.option("--for", "for_s", type=period, metavar="SECONDS", help="Record for this time, from now on.")
@click.option(
    "--until-idle",
    "until_idle_s",
    type=period,
    metavar="SECONDS",
    help="End after this time without a message.",
)
@click.option(
    "--pre-buffer",
    type=_pre_buffer,
    is_flag=False,
    flag_value=_EVERYTHING,
    metavar="[SECONDS]",
    help="Begin with the earlier messages in the rings: all, or those of the last SECONDS.",
)
@click.option(
    "--format",
    "table",
    type=click.Choice(["parquet", "delta"]),
    help="delta: keep a Delta table, too, for readers outside Spark.  [default: parquet]",
)
@click.option(
    "--every",
    "every_s",
    type=seconds,
    metavar="SECONDS",
    default=0.5,
    show_default=True,
    help="Time between batches; 0: as often as possible.",
)
@click.option("--leave-open", is_flag=True, help="Leave the recording open: the next run continues it.")
@click.option("--release", is_flag=True, help="Record nothing; end a recording that was left open.")
@click.option("--no-sync", is_flag=True, help="Count messages as recorded before they are on disk.")
@click.option("--master", metavar="URL", help="Master of Spark.  [default: all processors of this machine]")
@click.option(
    "--summary", "form", type=click.Choice(["text", "json"]), default="text", help="Format of the summary."
)
@click.pass_obj
def command(
    target: Target,
    topics: tuple[str, ...],
    lake: str,
    for_s: float | None,
    until_idle_s: float | None,
    pre_buffer: float | bool | None,
    table: str | None,
    every_s: float,
    leave_open: bool,
    release: bool,
    no_sync: bool,
    master: str | None,
    form: str,
) -> None:
    """Record TOPICS, names or patterns such as 'camera.*', until Ctrl-C, or until the end of --for or --until-idle.

    The recording begins at once, while Spark is still starting: reliable topics keep their messages meanwhile, and the
    loss of lossy topics is counted.

    Every message is in the lake once: after a kill, the same command continues the recording. Loss of lossy topics is
    recorded as counted gaps. On reliable topics a cursor keeps unrecorded messages, also after a crash, until the
    recording ends by Ctrl-C, --for, --until-idle or --release.
    """
    if release:
        _release(lake, topics)
        return
    if not topics:
        raise click.UsageError("Missing argument 'TOPICS': names or patterns, or '*' for all.")
    from slipring.pipelines import jvm
    from slipring.pipelines.record.record import record

    with _stopping() as (stop, caught), jvm.of_a_command(complain):
        with Line("recording", "messages") as line:
            told = record(
                topics,
                lake,
                bus=target.name,
                root=target.root,
                for_s=for_s,
                until_idle_s=until_idle_s,
                pre_buffer=pre_buffer or False,
                table=table,
                every_s=every_s,
                leave_open=leave_open,
                sync=not no_sync,
                master=master,
                progress=line,
                stop=stop,
            )
        _put(told, form)
        flush()  # before an archive is written
    if caught:
        raise Stopped(caught[0])


@contextmanager
def _stopping() -> Iterator[tuple[threading.Event, list[int]]]:
    """Let a signal request the end of the recording, so that it interrupts no call to Spark; a second one kills."""
    stop, caught = threading.Event(), list[int]()

    def asked(signum: int, _frame: object) -> None:
        caught.append(signum)
        stop.set()
        for other in _SIGNALS:
            signal.signal(other, signal.SIG_DFL)

    before = {signum: signal.getsignal(signum) for signum in _SIGNALS}
    for signum in _SIGNALS:
        if before[signum] != signal.SIG_IGN:
            signal.signal(signum, asked)
    try:
        yield stop, caught
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _release(lake: str, topics: tuple[str, ...]) -> None:
    if topics:
        raise click.UsageError("--release records nothing: omit the topics.")
    from slipring.pipelines.record.finish import release

    sessions = release(lake)
    for session in sessions:
        complain(f"recording {session} is ended")
    if not sessions:
        complain(f"no recording into {lake} is open")


def _put(told: Summary, form: str) -> None:
    if form == "json":
        output.put_json(told.to_json())
        return
    for topic, counts in told.topics.items():
        output.put_line(f"{topic}: {counted(counts['messages'], 'message')}{_holes(counts)}")
    total = {"lost": told.lost, "abandoned": told.abandoned}
    state = "" if told.ended else ", left open"
    output.put_line(
        f"recorded {counted(told.messages, 'message')}{_holes(total)} into {told.lake} "
        f"in {duration(told.elapsed_s)}{state}"
    )
    if told.warning:
        complain(f"warning: {told.warning}")


def _holes(counts: dict[str, int]) -> str:
    return "".join(f", {number(counts[name])} {name}" for name in ("lost", "abandoned") if counts[name])
