# SPDX-License-Identifier: Apache-2.0
"""``slipring ls``: the topics and cells of a bus."""

from __future__ import annotations

from typing import Any

import click

import slipring
from slipring.cli.terminal import output, process_exit
from slipring.cli.terminal.counters import Stats, Survey, living, report, survey
from slipring.cli.terminal.known_names import other_buses
from slipring.cli.terminal.options import Target, format_option
from slipring.cli.terminal.output import Column
from slipring.cli.terminal.schema_facts import schema_name
from slipring.units import number, printable, size

_COLUMNS = (
    Column("topic"),
    Column("delivery"),
    Column("capacity", right=True),
    Column("retained", right=True),
    Column("published", right=True),
    Column("publishers", right=True),
    Column("readers", right=True),
    Column("cursors", right=True),
)
_OTHERS = (
    Column("name"),
    Column("kind"),
    Column("file", right=True),
    Column("put", right=True),
    Column("lost", right=True),
    Column("writers", right=True),
    Column("readers", right=True),
)


@click.command()
@format_option()
@click.pass_obj
def command(target: Target, form: str) -> int:
    """List the topics with their delivery, size, retained messages and users; then the cells.

    If a topic has a schema, the last column has the names of schemas. A topic that cannot be read is reported on
    stderr, and the exit code is 1.
    """
    with target.open() as bus:
        found = survey(bus)
        schemas = _schemas(bus, found)
        nothing = "" if found.topics or found.others or found.problems else _nothing_on(bus)
    if form == "json":
        records = [
            _record(topic, stats) | ({"schema": schemas[topic]} if topic in schemas else {})
            for topic, stats in found.topics.items()
        ]
        output.put_json(records + [_other_record(stats) for stats in found.others.values()])
    else:
        _put(found, schemas)
    if nothing and form == "table":
        process_exit.complain(printable(nothing))
    return report(found)


def _schemas(bus: slipring.Bus, found: Survey) -> dict[str, str]:
    """Return the name of the schema of each typed topic."""
    typed = [topic for topic, stats in found.topics.items() if stats.get("schema_bytes")]
    names = {topic: schema_name(bus, topic) for topic in typed}
    return {topic: name for topic, name in names.items() if name is not None}


def _nothing_on(bus: slipring.Bus) -> str:
    others = other_buses(bus)
    return f"no topics on bus {bus.name!r} in {bus.root}" + (f"; {others}" if others else "")


def _put(found: Survey, schemas: dict[str, str]) -> None:
    if found.topics or (output.on_terminal() and not found.others):
        rows = [
            _row(topic, stats) + ([schemas.get(topic, "-")] if schemas else [])
            for topic, stats in found.topics.items()
        ]
        output.put_table((*_COLUMNS, Column("schema")) if schemas else _COLUMNS, rows)
    if found.topics and found.others:
        output.put_line("")
    if found.others:
        output.put_table(_OTHERS, [_other_row(stats) for stats in found.others.values()])


def _record(topic: str, stats: Stats) -> dict[str, Any]:
    facts = ("content", "delivery", "writers", "capacity", "slots", "retained", "published", "bytes")
    return {
        "topic": topic,
        **{fact: stats[fact] for fact in facts},
        "publishers": len(living(stats["publishers"])),
        "readers": len(living(stats["readers"])),
        "cursors": len(stats["cursors"]),
    }


def _row(topic: str, stats: Stats) -> list[str]:
    record = _record(topic, stats)
    counts = ("retained", "published", "publishers", "readers", "cursors")
    return [topic, stats["delivery"], size(stats["capacity"]), *(number(record[name]) for name in counts)]


def _other_record(stats: Stats) -> dict[str, Any]:
    facts = ("topic", "kind", "size", "depth", "file_bytes", "puts", "lost")
    users = {name: len(living(stats[name])) for name in ("writers", "readers")}
    return {**{fact: stats[fact] for fact in facts}, **users}


def _other_row(stats: Stats) -> list[str]:
    record = _other_record(stats)
    counts = (number(record[name]) for name in ("puts", "lost", "writers", "readers"))
    return [record["topic"], record["kind"], size(record["file_bytes"]), *counts]
