# SPDX-License-Identifier: Apache-2.0
"""``slipring pub``: publish arguments, or bodies from stdin: bytes, or JSON on a typed topic."""

from __future__ import annotations

import io
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

import click

import slipring
from slipring.cli.terminal.framing import Framing, split
from slipring.cli.terminal.options import (
    TIMES,
    Target,
    complete_topics,
    framing_options,
    period,
    seconds,
    sleep_until,
    text,
)
from slipring.cli.terminal.process_exit import complain
from slipring.cli.terminal.schema_facts import schema_of
from slipring.units import counted

if TYPE_CHECKING:
    from slipring._bus.schema.topic_schema import Schema

_LATE_S = 1.0


@click.command()
@click.argument("topic", shell_complete=complete_topics)
@click.argument("messages", nargs=-1, type=click.UNPROCESSED, metavar="[MESSAGE]...")
@click.option("--type", "kind", type=text, default="", help="The type of every message.")
@click.option("--sender", type=text, default="", help="The sender of every message.")
@click.option(
    "--delivery", type=click.Choice(["lossy", "reliable"]), help="Delivery of a new topic.  [default: lossy]"
)
@click.option("--capacity", metavar="SIZE", help="Capacity of a new topic, such as 64KiB or 1GiB.")
@click.option("--timeout", type=seconds, help="Time for which a full topic may delay a message.")
@click.option("--wait-for", type=TIMES, metavar="N", help="Wait for N subscribers before the first message.")
@click.option("--count", type=TIMES, help="Send the arguments this many times.")
@click.option(
    "--rate",
    type=period,
    metavar="HZ",
    help="Messages per second; arguments are repeated until --count or Ctrl-C.",
)
@click.option(
    "--schema",
    metavar="MODULE:CLASS",
    help="Schema of a new topic: a class of your own module, or the file of a FlatBuffers .bfbs.",
)
@click.option(
    "--encoding", type=click.Choice(["msgpack", "json"]), help="Encoding of a class.  [default: msgpack]"
)
@framing_options("Take all of stdin as one body; on a typed topic send bytes, not JSON.")
@click.pass_obj
def command(
    target: Target,
    topic: str,
    messages: tuple[str, ...],
    kind: str,
    sender: str,
    delivery: str | None,
    capacity: str | None,
    timeout: float | None,
    wait_for: int | None,
    count: int | None,
    rate: float | None,
    schema: str | None,
    encoding: str | None,
    framing: str | None,
) -> None:
    """Publish each MESSAGE on TOPIC; without any, each line of stdin.

    A missing topic is created. The body is exactly the bytes of the argument or line, without its newline; bodies of
    any bytes need --length-prefixed.

    On a typed topic each MESSAGE or line is JSON, and is encoded: '{"t": 1.0, "acc": [1, 2, 3]}'. Bytes are base64 and
    times are ISO 8601; `slipring schema TOPIC --as json` describes all forms. --raw, --null and --length-prefixed send
    bytes as they are.
    """
    _refuse_contradictions(messages, count, framing)
    settings: dict[str, Any] = {"delivery": delivery, "capacity": _size(capacity), "encoding": encoding}
    if schema is not None:
        from slipring.cli.terminal.declared import declared

        settings["schema"] = declared(schema)
    given = {name: value for name, value in settings.items() if value is not None}
    limits = {} if timeout is None else {"timeout": timeout}
    with target.open() as bus:
        publisher = bus.publisher(topic, sender=sender, **given)
        if messages:
            bodies = _repeated([os.fsencode(message) for message in messages], count, rate)
        else:
            bodies = _stdin(Framing(framing or "lines"), bus.stats(topic)["capacity"])
        if wait_for:
            publisher.wait_for_subscribers(wait_for)
        send = publisher.send
        found = schema_of(bus, topic)
        if found is not None:
            send = publisher.send_raw if framing else _encoding(publisher, found)
        _send(send, _paced(bodies, rate), {"type": kind, **limits})


def _encoding(publisher: slipring.Publisher, schema: Schema) -> Callable[..., Any]:
    """Return the function that sends a text of JSON as a message of a typed topic."""
    from slipring.cli.terminal.json_input import reader

    read = reader(schema)
    numbers = itertools.count(1)

    def send(body: bytes, **options: Any) -> None:
        number = next(numbers)
        try:
            publisher.send(read(body), **options)
        except slipring.BadArgument as error:
            text = str(error).removeprefix(f"topic {publisher.topic!r}: ")
            error.args = (f"topic {publisher.topic!r}, message {number}: {text}", *error.args[1:])
            raise

    return send


def _send(send: Callable[..., Any], bodies: Iterable[bytes], options: dict[str, Any]) -> None:
    sent = 0
    try:
        for body in bodies:
            send(body, **options)
            sent += 1
    except (slipring.SlipringError, click.ClickException):
        if sent:
            complain(f"{counted(sent, 'message')} sent before the error:")
        raise


def _refuse_contradictions(messages: tuple[str, ...], count: int | None, framing: str | None) -> None:
    if messages and framing and framing != Framing.RAW.value:
        raise click.UsageError(f"--{framing} describes stdin, which is not read when a MESSAGE is given")
    if count and not messages:
        raise click.UsageError("--count repeats MESSAGE arguments; none is given")


def _size(capacity: str | None) -> str | int | None:
    return int(capacity) if capacity is not None and capacity.isascii() and capacity.isdecimal() else capacity


def _repeated(bodies: list[bytes], count: int | None, rate: float | None) -> Iterator[bytes]:
    rounds = range(count) if count else itertools.count() if rate else range(1)
    return (body for _ in rounds for body in bodies)


def _stdin(framing: Framing, limit: int) -> Iterator[bytes]:
    if sys.stdin is None:
        raise click.UsageError("stdin is closed and no MESSAGE is given")
    return split(cast(io.BufferedReader, sys.stdin.buffer), framing, limit)


def _paced(bodies: Iterator[bytes], rate: float | None) -> Iterator[bytes]:
    """Yield ``bodies`` at a steady rate; a short delay is made up for."""
    if rate is None:
        yield from bodies
        return
    due = time.monotonic()
    for body in bodies:
        due = max(due, time.monotonic() - _LATE_S)
        sleep_until(due)
        yield body
        due += 1 / rate
