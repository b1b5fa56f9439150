# SPDX-License-Identifier: Apache-2.0
"""``slipring sub``: print the bodies of messages."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

import slipring
from slipring._bus.settings import is_pattern
from slipring.cli.terminal import output
from slipring.cli.terminal.error_text import describe
from slipring.cli.terminal.framing import Framing, join
from slipring.cli.terminal.known_names import awaited
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
from slipring.units import counted, number, printable

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
@framing_options("Print bodies without separators, and without escapes on a terminal.")
@format_option("text")
@click.pass_obj
def command(
    target: Target,
    /,
    topic: str,
    count: int | None,
    timeout: float | None,
    framing: str | None,
    form: str,
    **given: Any,
) -> int:
    """Print the bodies of TOPIC, each followed by a newline; or one JSON object per line.

    TOPIC may be a pattern, such as 'cam.*', for all topics that match, also later ones; each line then begins with the
    name of its topic. A topic that cannot be read is reported on stderr, and the exit code is then 1.

    On a terminal, control characters and bytes that are not text are escaped, so that no message can act on it; --raw
    writes them unchanged. The topic need not exist yet. Losses are reported on stderr. On a reliable topic a slow
    reader delays the publishers, except with --lossy. The exit code is 1 if --timeout ends the command before --count.
    """
    several = is_pattern(topic)
    encode = _encoder(framing, form, several)
    unread = 0
    with target.open() as bus:
        subscriber = bus.subscriber(topic, **_settings(given))
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
                output.put(encode(batch))
                if given["cursor"] is not None:
                    subscriber.commit()
                losses.report_now_and_then()
                left = None if left is None else left - len(batch)
        finally:
            losses.report()
    if left:
        complain(f"error: nothing came for {timeout:g} s and {left} of {count} messages are missing")
    return 1 if left or unread else 0


def _encoder(framing: str | None, form: str, several: bool) -> Callable[[Sequence[slipring.Message]], bytes]:
    """Return the function that writes a batch; without --raw it escapes bodies on a terminal."""
    if framing and form == "json":
        raise click.UsageError(f"--{framing} and --format json exclude each other")
    if form == "json":
        return _json_lines
    if output.to_terminal():
        if framing is None:
            return partial(_escaped_lines, named=several)
        if framing != Framing.RAW.value:
            raise click.UsageError(
                f"--{framing} writes bytes that could act on a terminal: redirect stdout, or omit it"
            )
    if several and framing is None:
        return _named_lines
    return partial(_framed, framing=Framing(framing or "lines"))


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the given settings of the subscriber; the others have the library's defaults."""
    settings = {name: words(value) if isinstance(value, tuple) else value for name, value in given.items()}
    return {
        name: value
        for name, value in settings.items()
        if value is not None and value is not False and value != []
    }


def _framed(batch: Sequence[slipring.Message], framing: Framing) -> bytes:
    return join((bytes(message.body) for message in batch), framing)


def _named_lines(batch: Sequence[slipring.Message]) -> bytes:
    return b"".join(b"%s: %s\n" % (message.topic.encode(), message.body) for message in batch)


def _escaped_lines(batch: Sequence[slipring.Message], named: bool) -> bytes:
    """Print each body, after the name of its topic if there are several."""
    bodies = (
        (f"{message.topic}: " if named else "", bytes(message.body).decode("utf-8", "backslashreplace"))
        for message in batch
    )
    return "".join(f"{topic}{printable(body)}\n" for topic, body in bodies).encode()


def _json_lines(batch: Sequence[slipring.Message]) -> bytes:
    return b"".join(output.json_line(_record(message)) for message in batch)


def _record(message: slipring.Message) -> dict[str, object]:
    content = bytes(message.body)
    try:
        body, encoding = content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        body, encoding = base64.b64encode(content).decode("ascii"), "base64"
    return {
        "topic": message.topic,
        "seq": message.seq,
        "time_ns": message.time_ns,
        "sender": message.sender,
        "type": message.type,
        "body": body,
        "encoding": encoding,
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
