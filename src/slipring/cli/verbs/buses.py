# SPDX-License-Identifier: Apache-2.0
"""``slipring buses``: the buses of a root."""

from __future__ import annotations

import os
from typing import Any

import click

import slipring
from slipring.cli.terminal import output, process_exit
from slipring.cli.terminal.counters import Stats, living, survey
from slipring.cli.terminal.known_names import buses
from slipring.cli.terminal.options import Target, format_option
from slipring.cli.terminal.output import Column
from slipring.units import counted, number, printable, size

_COLUMNS = (
    Column("bus"),
    Column("topics", right=True),
    Column("cells", right=True),
    Column("size", right=True),
    Column("processes", right=True),
)
_USERS = ("publishers", "writers", "readers")


@click.command()
@format_option()
@click.pass_obj
def command(target: Target, form: str) -> int:
    """List the buses of --root with their topics and cells, their memory, and the living processes that use them.

    Buses without read permission are not listed. A topic that cannot be read counts as a topic without processes; the
    exit code is then 1.
    """
    with target.open() as bus:
        root = bus.root
    if "://" in root:
        raise click.UsageError(f"{root} is on another host: `slipring buses` lists the buses of this host")
    found = [_record(name, root) for name in buses(root)]
    if form == "json":
        output.put_json(found)
    elif found:
        output.put_table(_COLUMNS, [_row(record) for record in found])
    else:
        process_exit.complain(printable(f"no buses in {root}"))
    unread = sum(record["unread"] for record in found)
    if unread:
        process_exit.complain(
            f"error: {counted(unread, 'topic')} cannot be read (`slipring --bus NAME doctor` shows the cause)"
        )
    return 1 if unread else 0


def _record(name: str, root: str) -> dict[str, Any]:
    with slipring.Bus(name, root=root) as bus:
        found = survey(bus)
        taken = _bytes(bus.path)
    every = [*found.topics.values(), *found.others.values()]
    return {
        "bus": name,
        "topics": len(found.topics) + len(found.problems),
        "cells": len(found.others),
        "bytes": taken,
        "processes": len({pid for stats in every for pid in _processes(stats)}),
        "unread": len(found.problems),
    }


def _processes(stats: Stats) -> set[int]:
    """Return the living processes in the tables of a topic or of cells; the "writers" of a topic is a setting."""
    users = [entry for name in _USERS if isinstance(stats.get(name), list) for entry in stats[name]]
    return {entry["pid"] for entry in living(users)}


def _bytes(path: str) -> int:
    """Return the memory or disk space of the files of a bus, without files that are removed meanwhile."""
    taken = 0
    try:
        with os.scandir(path) as files:
            for file in files:
                try:
                    taken += file.stat(follow_symlinks=False).st_blocks * 512
                except FileNotFoundError:
                    continue
    except FileNotFoundError:
        return 0
    return taken


def _row(record: dict[str, Any]) -> list[str]:
    counts = (number(record["topics"]), number(record["cells"]))
    return [record["bus"], *counts, size(record["bytes"]), number(record["processes"])]
