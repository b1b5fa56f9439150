# SPDX-License-Identifier: Apache-2.0
"""``slipring replay``: publish a recording again."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

import slipring
from slipring.cli import spark_job
from slipring.cli.terminal import output
from slipring.cli.terminal.options import Target, complete_lakes, format_option, master_option, seconds, words
from slipring.cli.terminal.process_exit import Stopped, complain, flush
from slipring.cli.terminal.progress_line import Line
from slipring.units import counted, duration, frequency, number, size

if TYPE_CHECKING:
    from slipring.pipelines.replay.replay import Replayed

_FLAGS = {"start": "--from", "end": "--to"}
_PLACE = "TIME|+LENGTH|TOPIC@SEQ"


@click.command(short_help="Publish a recording again.")
@click.argument("lake", shell_complete=complete_lakes)
@click.option(
    "--speed", default="1", show_default=True, metavar="FACTOR|max", help="Pace; 1 is the recorded pace."
)
@click.option("--topics", multiple=True, metavar="NAME,…", help="Names or globs.  [default: all]")
@click.option("--exclude", multiple=True, metavar="NAME,…", help="Names or globs to leave out.")
@click.option(
    "--from", "start", multiple=True, metavar=_PLACE, help="The first message; several may be given."
)
@click.option("--to", "end", multiple=True, metavar=_PLACE, help="The first message that is not replayed.")
@click.option(
    "--rename",
    multiple=True,
    metavar="OLD=NEW",
    help="Publish on another topic; OLD may be a glob, * in NEW stands for the old name.",
)
@click.option(
    "--times",
    type=click.Choice(["original", "now"]),
    default="original",
    show_default=True,
    help="Time stamps of the messages.",
)
@click.option(
    "--timeout",
    type=seconds,
    metavar="SECONDS",
    help="Time to wait for room in a reliable topic.  [default: no limit]",
)
@master_option
@format_option("text")
@click.pass_obj
def command(
    target: Target,
    lake: str,
    speed: str,
    topics: tuple[str, ...],
    exclude: tuple[str, ...],
    start: tuple[str, ...],
    end: tuple[str, ...],
    rename: tuple[str, ...],
    times: str,
    timeout: float | None,
    master: str | None,
    form: str,
) -> None:
    """Publish the recording in the directory LAKE on the bus, with its senders, types, times and spacing.

    --from and --to take a time (2026-11-16T04:00:00Z; local without a zone), a length after the first message (+90s,
    +2m) or a sequence of one topic (imu@1000). A missing topic is created with the recorded settings; an existing one
    must have the same delivery and writers, and room for the largest message. Readers of reliable topics delay the
    replay, like any publisher.
    """
    from slipring.pipelines import jvm
    from slipring.pipelines.replay.range import read_rule
    from slipring.pipelines.replay.replay import Replayed, replay

    outcome = Replayed()
    try:
        with target.open() as bus, jvm.of_a_command(complain):
            try:
                with Line("replaying", "messages") as line:
                    spark_job.run(
                        lambda show: replay(
                            lake,
                            bus=bus,
                            master=master,
                            speed=speed,
                            topics=words(topics) or None,
                            exclude=words(exclude),
                            start=start,
                            end=end,
                            rename=[read_rule(text) for text in rename],
                            times=times,
                            timeout=timeout,
                            progress=show,
                            outcome=outcome,
                        ),
                        line,
                    )
            except Stopped:
                _put(outcome, form)
                raise
            _put(outcome, form)
            flush()  # before an archive is written
    except slipring.BadArgument as error:
        raise click.UsageError(_by_flag(error)) from error
    except (slipring.TopicExists, slipring.TooLarge) as error:  # the usual remedy is for `pub`
        raise click.ClickException(str(error)) from error


def _by_flag(error: slipring.BadArgument) -> str:
    """Return the message with the option's name on the command line."""
    name = error.argument if error.argument != "lake" else ""  # the lake is an argument, not an option
    return re.sub(rf"^{re.escape(name)}\b", _FLAGS.get(name, f"--{name}"), str(error)) if name else str(error)


def _put(outcome: Replayed, form: str) -> None:
    if form == "json":
        output.put_json(asdict(outcome))
        return
    for note in outcome.notes:
        complain(note)
    for topic, messages in outcome.topics.items():
        output.put_line(f"{topic}: {counted(messages, 'message')}")
    rate = outcome.messages / outcome.elapsed_s if outcome.elapsed_s else 0.0
    all_of_them = outcome.messages == outcome.of_messages
    done = (
        counted(outcome.messages, "message")
        if all_of_them
        else f"{number(outcome.messages)} of {counted(outcome.of_messages, 'message')}"
    )
    output.put_line(
        f"replayed {done}, {size(outcome.bytes)}, in {duration(outcome.elapsed_s)} ({frequency(rate)}/s)"
    )
    if outcome.late_s:
        late = "  ".join(f"{name} {duration(value)}" for name, value in outcome.late_s.items())
        output.put_line(f"spacing error: {late}")
    if outcome.waited_s:
        output.put_line(f"waited {duration(outcome.waited_s)} for readers of reliable topics")
