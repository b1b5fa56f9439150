# SPDX-License-Identifier: Apache-2.0
"""One line for each error: what the library said, and what to do about it on the command line."""

from __future__ import annotations

import click

import slipring
from slipring.cli.terminal.units import printable

_FIXES: dict[type[slipring.SlipringError], str] = {
    slipring.TopicNotFound: "`slipring ls` lists the topics of this bus; --bus and --root choose another",
    slipring.TopicExists: "leave the options out to take the topic as it is, or `slipring rm` it first",
    slipring.TopicGone: "it was removed while in use; run the command again to follow the new one",
    slipring.WrongLayout: "it is damaged, or of another version of slipring; "
    "`slipring rm` removes it when no process uses it",
    slipring.Corrupt: "`slipring doctor` shows what is wrong with it",
    slipring.Denied: "ask the owner of the topic for a `mode` that lets you in, or choose another --root",
    slipring.Busy: "somebody else has it; `slipring info TOPIC` shows who",
    slipring.Full: "wait longer with --timeout; `slipring info TOPIC` shows which reader is behind",
    slipring.TooLarge: "make the topic with a larger --capacity",
    slipring.TooManyReaders: "read with --lossy, or end another reader; `slipring info TOPIC` shows them",
    slipring.TooManyWriters: "end another publisher; `slipring info TOPIC` shows them",
    slipring.BadArguments: "arguments are JSON; NAME=JSON is a named one",
    slipring.Timeout: "wait longer with --timeout",
    slipring.PeerGone: "start the server, or wait for it with --wait",
    slipring.NoSpace: "free some with `slipring rm`, or choose another --root; `df -h` shows what is left",
}

_OF_THE_BUS = ("name", "key")  # errors about a bus address, not a topic, already contain the remedy


def describe(error: BaseException) -> str:
    """The error in one printable line, with its fix."""
    if isinstance(error, slipring.SlipringError):
        fix = next((_FIXES[kind] for kind in type(error).__mro__ if kind in _FIXES), "")
        is_of_the_place = (
            isinstance(error, slipring.Denied) and error.argument == "root"
        )  # of no topic's mode
        if error.argument in _OF_THE_BUS or is_of_the_place:
            fix = ""
        notes = getattr(error, "__notes__", ())  # what the command line may have meant
        fix = "; ".join(filter(None, (*notes, fix)))
        text = str(error) or type(error).__name__
    elif isinstance(error, click.UsageError):
        text, fix = error.format_message(), _usage_fix(error)
    elif isinstance(error, click.ClickException):
        text, fix = error.format_message(), ""
    else:
        text, fix = str(error), ""
    line = " ".join(text.split()).rstrip(".")
    return printable(f"{line} ({fix})" if fix else line)


def _usage_fix(error: click.UsageError) -> str:
    if isinstance(error, click.NoSuchOption) and error.option_name in ("--bus", "--root"):
        return f"{error.option_name} goes before the verb"
    if error.ctx is None:
        return ""
    return f"see `{error.ctx.command_path} --help`"
