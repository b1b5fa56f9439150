# SPDX-License-Identifier: Apache-2.0
"""``slipring pub``: publish arguments, or bodies from stdin."""

from __future__ import annotations

import io
import itertools
import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, cast

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
from slipring.units import counted

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
@framing_options("Take all of stdin as one body.")
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
    framing: str | None,
) -> None:
    """Publish each MESSAGE on TOPIC; without any, each line of stdin.

    A missing topic is created. The body is exactly the bytes of the argument or line, without its newline; bodies of
    any bytes need --length-prefixed.
    """
    _refuse_contradictions(messages, count, framing)
    settings: dict[str, Any] = {"delivery": delivery, "capacity": _size(capacity)}
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
        _send(publisher, _paced(bodies, rate), {"type": kind, **limits})


def _send(publisher: slipring.Publisher, bodies: Iterable[bytes], options: dict[str, Any]) -> None:
    sent = 0
    try:
        for body in bodies:
            publisher.send(body, **options)
            sent += 1
    except (slipring.SlipringError, click.ClickException):
        if sent:
            complain(f"{counted(sent, 'message')} sent before the error:")
        raise


def _refuse_contradictions(messages: tuple[str, ...], count: int | None, framing: str | None) -> None:
    if messages and framing:
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
