# SPDX-License-Identifier: Apache-2.0
"""``slipring sub``: print the bodies of messages, or the fields of typed ones."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

import slipring
from slipring._bus.settings import is_pattern
from slipring._bus.typed.subscriber_reading import PlainMessage
from slipring.cli.terminal import output
from slipring.cli.terminal.error_text import describe
from slipring.cli.terminal.framing import Framing
from slipring.cli.terminal.known_names import awaited
from slipring.cli.terminal.message_output import (
    Bodies,
    MessageOutput,
    columns,
    json_fields,
    json_lines,
    lines,
    without_fields,
)
from slipring.cli.terminal.options import (
    TIMES,
    Target,
    complete_cursors,
    complete_topics,
    format_option,
    framing_options,
    seconds,
    start,
    text,
    words,
)
from slipring.cli.terminal.process_exit import complain
from slipring.units import counted, number

if TYPE_CHECKING:
    from slipring.cli.terminal.field_paths import FieldPath

_BATCH = 1024
_REPORT_S = 1.0
_OF_ONE_TOPIC = (
    slipring.Corrupt,
    slipring.WrongLayout,
    slipring.Denied,
    slipring.SystemFault,
    slipring.TooManyReaders,
)


@click.command()
@click.argument("topic", shell_complete=complete_topics)
@click.option(
    "--start",
    type=start,
    metavar="new|last|oldest|SEQ",
    help="First message: the next one, the newest or oldest retained one, or a sequence.",
)
@click.option("--count", type=TIMES, help="End after this many messages.")
@click.option("--timeout", type=seconds, help="End after this time without a message.")
@click.option(
    "--cursor",
    metavar="NAME",
    shell_complete=complete_cursors,
    help="Continue at the position of the cursor NAME; it moves after each write.",
)
@click.option(
    "--types", type=text, multiple=True, metavar="TYPE,...", help="Print only messages of these types."
)
@click.option(
    "--ignore-types", type=text, multiple=True, metavar="TYPE,...", help="Skip messages of these types."
)
@click.option(
    "--ignore-senders", type=text, multiple=True, metavar="NAME,...", help="Skip messages of these senders."
)
@click.option("--lossy", is_flag=True, help="Never delay the publishers of a reliable topic.")
@click.option("--conflate", is_flag=True, help="Print only the newest message, each time.")
@click.option(
    "--fields",
    type=text,
    multiple=True,
    metavar="FIELD,...",
    help="Print only these fields of a typed topic, as columns: t,acc[0],pose.x",
)
@framing_options("Print bodies without separators, and without escapes on a terminal.")
@format_option("text")
@click.pass_obj
def command(
    target: Target,
    /,
    topic: str,
    count: int | None,
    timeout: float | None,
    fields: tuple[str, ...],
    framing: str | None,
    form: str,
    **given: Any,
) -> int:
    """Print the messages of TOPIC, one per line: bodies, or the fields of a typed topic; or JSON objects.

    TOPIC may be a pattern, such as 'cam.*', for all topics that match, also later ones; each line then begins with the
    name of its topic. A topic that cannot be read, or a message that does not fit the schema of its topic, is reported
    on stderr, and the exit code is then 1. --raw, --null and --length-prefixed write bodies as they are.

    On a terminal, control characters and bytes that are not text are escaped, so that no message can act on it; --raw
    writes them unchanged. The topic need not exist yet. Losses are reported on stderr. On a reliable topic a slow
    reader delays the publishers, except with --lossy. The exit code is 1 if --timeout ends the command before --count.
    """
    several = is_pattern(topic)
    printed, paths = _output(framing, form, words(fields), several)
    unread = 0
    with target.open() as bus:
        if paths and not several:
            _check_fields(bus, topic, paths)
        subscriber = bus.subscriber(topic, **_settings(given), schema=None if framing else PlainMessage)
        if not subscriber.attached:
            complain(awaited(bus, topic))
        losses = Losses(subscriber)
        left = count
        try:
            while left is None or left > 0:
                try:
                    batch = subscriber.recv_many(
                        _BATCH if left is None else min(_BATCH, left), timeout=timeout
                    )
                except _OF_ONE_TOPIC as error:
                    if not several:
                        raise
                    unread += 1  # the subscriber reports each such topic once and continues without it
                    complain(f"error: {describe(error)}")
                    continue
                if not batch:
                    break
                output.put(printed.of(batch))
                if given["cursor"] is not None:
                    subscriber.commit()
                losses.report_now_and_then()
                left = None if left is None else left - len(batch)
        finally:
            losses.report()
    if left:
        complain(f"error: nothing came for {timeout:g} s and {left} of {count} messages are missing")
    return 1 if left or unread or printed.failures else 0


def _output(
    framing: str | None, form: str, fields: list[str], several: bool
) -> tuple[MessageOutput | Bodies, list[FieldPath]]:
    """Return what makes the bytes of a batch, and the fields that were asked for."""
    if framing and form == "json":
        raise click.UsageError(f"--{framing} and --format json exclude each other")
    if framing and fields:
        raise click.UsageError(f"--{framing} and --fields exclude each other")
    if framing:
        if output.to_terminal() and framing != Framing.RAW.value:
            raise click.UsageError(
                f"--{framing} writes bytes that could act on a terminal: redirect stdout, or omit it"
            )
        return Bodies(Framing(framing)), []
    if fields:
        from slipring.cli.terminal.field_paths import parse

        paths = [parse(field) for field in fields]
        return (json_fields if form == "json" else columns)(paths, several), paths
    return (json_lines if form == "json" else lines)(several), []


def _check_fields(bus: slipring.Bus, topic: str, paths: list[FieldPath]) -> None:
    """Refuse fields that a topic does not have, if it exists already."""
    from slipring.cli.terminal.field_paths import type_at

    try:
        schema = bus.schema(topic)
    except slipring.TopicNotFound:
        return
    if schema is None:
        raise without_fields(topic)
    for path in paths:
        type_at(path, schema, topic)


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the given settings of the subscriber; the others have the library's defaults."""
    settings = {name: words(value) if isinstance(value, tuple) else value for name, value in given.items()}
    return {
        name: value
        for name, value in settings.items()
        if value is not None and value is not False and value != []
    }


class Losses:
    """Report lost messages on stderr, at most once a second and once at the end."""

    def __init__(self, subscriber: slipring.Subscriber) -> None:
        self._subscriber = subscriber
        self._told = 0
        self._next_s = 0.0

    def report_now_and_then(self) -> None:
        if self._subscriber.lost > self._told and time.monotonic() >= self._next_s:
            self.report()
            self._next_s = time.monotonic() + _REPORT_S

    def report(self) -> None:
        lost = self._subscriber.lost
        if lost > self._told:
            now = counted(lost - self._told, "message")
            complain(f"lost {now} ({number(lost)} in all): reading was slower than publishing")
            self._told = lost
