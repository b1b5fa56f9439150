# SPDX-License-Identifier: Apache-2.0
"""``slipring schema``: the schema of a topic, for programs and for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from slipring.cli.terminal import output
from slipring.cli.terminal.known_names import hinted
from slipring.cli.terminal.options import Target, complete_topics, format_option
from slipring.cli.terminal.schema_facts import facts_of

if TYPE_CHECKING:
    from slipring._bus.schema.topic_schema import Schema


def _put_text(text: str) -> None:
    for line in text.rstrip("\n").split("\n"):
        output.put_line(line)


def _put_document(schema: Schema) -> None:
    if output.to_terminal():
        output.put_line(schema.to_bytes().decode())
    else:
        output.put(schema.to_bytes())


_FORMS: dict[str, Callable[[Schema], None]] = {
    "python": lambda schema: _put_text(schema.python),
    "arrow": lambda schema: _put_text(str(schema.arrow)),
    "ddl": lambda schema: _put_text(schema.ddl),
    "json": lambda schema: output.put_json(schema.json_schema),
    "document": _put_document,
}


@click.command()
@click.argument("topic", shell_complete=complete_topics)
@click.option(
    "--as",
    "wanted",
    type=click.Choice(list(_FORMS)),
    help="Python source, an Arrow schema, Spark DDL, JSON Schema, or the bytes that the topic stores.  "
    "[default: python]",
)
@format_option("text")
@click.pass_obj
def command(target: Target, topic: str, wanted: str | None, form: str) -> None:
    """Print the schema of TOPIC.

    --format json prints one object with name, encoding, hash, fields, Spark DDL and JSON Schema.
    The SHA-256 of --as document is the hash of the schema.
    """
    if wanted and form == "json":
        raise click.UsageError("--as and --format json exclude each other")
    with target.open() as bus, hinted(bus, topic):
        schema = bus.schema(topic)
    if schema is None:
        raise click.ClickException(
            f"topic {topic!r} has no schema: its messages are bytes; a topic gets one when it is made, with schema="
        )
    if form == "json":
        forms = {"ddl": schema.ddl, "json_schema": schema.json_schema}
        output.put_json({"topic": topic, **facts_of(schema), **forms})
    else:
        _FORMS[wanted or "python"](schema)
