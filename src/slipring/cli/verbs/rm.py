# SPDX-License-Identifier: Apache-2.0
"""``slipring rm``: remove topics and cells."""

from __future__ import annotations

import sys

import click

import slipring
from slipring.cli.terminal.counters import living
from slipring.cli.terminal.known_names import hinted
from slipring.cli.terminal.options import Target, complete_contents
from slipring.units import counted, printable


@click.command()
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...", shell_complete=complete_contents)
@click.option("--yes", "-y", is_flag=True, help="Remove without confirmation.")
@click.option("--missing-ok", is_flag=True, help="Ignore topics that do not exist.")
@click.pass_obj
def command(target: Target, topics: tuple[str, ...], yes: bool, missing_ok: bool) -> None:
    """Remove each TOPIC with all its messages; its users get TopicGone.

    If one of them does not exist, none is removed.
    """
    with target.open() as bus:
        present = bus.contents()
        wanted = list(dict.fromkeys(topics))
        for topic in wanted:
            if topic not in present and not missing_ok:
                with hinted(bus, topic):
                    bus.remove(topic)  # raises if there is no such topic, or the name is not valid
        found = [topic for topic in wanted if topic in present]
        if not yes:
            _ask(bus, found)
        for topic in found:
            bus.remove(topic, missing_ok=missing_ok)


def _ask(bus: slipring.Bus, topics: list[str]) -> None:
    """Confirm on a terminal, naming the processes that use the topics."""
    if not topics:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError("stdin is not a terminal, so that removal cannot be confirmed: give --yes")
    for topic in topics:
        if not click.confirm(
            f"Remove {bus.contents().get(topic, 'topic')} {printable(topic)} ({_users(bus, topic)})?",
            err=True,
        ):
            raise click.Abort


def _users(bus: slipring.Bus, topic: str) -> str:
    try:
        stats = bus.stats(topic)
    except slipring.SlipringError as error:
        return f"{type(error).__name__}: {printable(str(error))}"
    if "kind" in stats:
        return ", ".join(counted(len(living(stats[f"{noun}s"])), noun) for noun in ("writer", "reader"))
    users = {noun: len(living(stats[f"{noun}s"])) for noun in ("publisher", "reader")}
    counts = {"message": stats["retained"], **users, "cursor": len(stats["cursors"])}
    return ", ".join(counted(count, noun) for noun, count in counts.items())
