# SPDX-License-Identifier: Apache-2.0
"""``slipring info``: everything about one topic, or about cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from slipring.cli.terminal import output
from slipring.cli.terminal.known_names import hinted
from slipring.cli.terminal.options import Target, complete_contents, format_option
from slipring.cli.terminal.output import Column
from slipring.cli.terminal.schema_facts import facts_of, schema_of
from slipring.units import duration, moment, number, size

if TYPE_CHECKING:
    from slipring._bus.schema.topic_schema import Schema

_WORDS = [
    "name",
    "sender",
    "kind",
    "alive",
    "attached",
    "content",
    "delivery",
    "writers",
    "generation",
    "held",
    "stream",
    "shape",
    "dtype",
]


@click.command()
@click.argument("topic", shell_complete=complete_contents)
@format_option()
@click.pass_obj
def command(target: Target, topic: str, form: str) -> None:
    """Show everything about TOPIC.

    That is its settings and counters, its schema, its publishers, its readers with lag and loss, its cursors with age
    and lag.
    """
    with target.open() as bus, hinted(bus, topic):
        stats = bus.stats(topic)
        schema = schema_of(bus, topic) if stats.get("schema_bytes") else None
    if form == "json":
        output.put_json({"topic": topic, **stats, **({} if schema is None else {"schema": facts_of(schema)})})
        return
    facts = {"topic": topic, **{name: value for name, value in stats.items() if not isinstance(value, list)}}
    if schema is not None:
        facts["schema"] = f"{schema.name}, {schema.encoding}, {schema.hash[:12]}"
    output.put_table(
        (Column("fact"), Column("value")),
        [(_title(name), _text(name, value)) for name, value in facts.items()],
    )
    for section, entries in stats.items():
        if isinstance(entries, list) and entries:
            output.put_line("")
            _put_entries(section, entries)
    if schema is not None:
        output.put_line("")
        output.put_table((Column("name"), Column("type"), Column("default")), _fields(schema), title="fields")


def _fields(schema: Schema) -> list[list[str]]:
    return [
        [each["name"], each["type"], output.json_text(each["default"]) if "default" in each else "-"]
        for each in facts_of(schema)["fields"]
    ]


def _put_entries(section: str, entries: list[Mapping[str, Any]]) -> None:
    names = list(entries[0])
    columns = [Column(_title(name), right=name not in _WORDS) for name in names]
    output.put_table(
        columns, [[_text(name, entry[name]) for name in names] for entry in entries], title=section
    )


def _title(name: str) -> str:
    return name.removesuffix("_s").removesuffix("_ns").replace("_", " ")


def _text(name: str, value: Any) -> str:
    """Return the value in readable form; its unit follows from its name."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "mode":
        return f"{value:04o}"
    if name in ("capacity", "size") or name.endswith("bytes"):
        return size(value)
    if name.endswith("_ns"):
        return moment(value)
    if name.endswith("_s"):
        return duration(value)
    if isinstance(value, int) and not name.endswith(("pid", "generation", "entry")):
        return number(value)
    return str(value)
