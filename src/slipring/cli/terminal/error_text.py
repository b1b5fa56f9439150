# SPDX-License-Identifier: Apache-2.0
"""Each error in one line: the library's message, and the remedy on the command line."""

from __future__ import annotations

import click

import slipring
from slipring.units import printable

_FIXES: dict[type[slipring.SlipringError], str] = {
    slipring.TopicNotFound: "`slipring ls` lists the topics of this bus; --bus and --root choose another",
    slipring.TopicExists: "omit the options to use the topic as it is, or remove it with `slipring rm`",
    slipring.TopicGone: "it was removed while in use; run the command again to follow the new one",
    slipring.WrongLayout: "it is damaged, or of another version of slipring; "
    "`slipring rm` removes it when no process uses it",
    slipring.Corrupt: "`slipring doctor` shows what is wrong with it",
    slipring.Denied: "ask the owner of the topic for a `mode` that lets you in, or choose another --root",
    slipring.Busy: "another process uses it; `slipring info TOPIC` shows which",
    slipring.Full: "wait longer with --timeout; `slipring info TOPIC` shows which reader is behind",
    slipring.TooLarge: "create the topic with a larger --capacity",
    slipring.TooManyReaders: "read with --lossy, or end another reader; `slipring info TOPIC` shows them",
    slipring.TooManyWriters: "end another publisher; `slipring info TOPIC` shows them",
    slipring.BadArguments: "arguments are JSON; NAME=JSON is a named argument",
    slipring.Timeout: "wait longer with --timeout",
    slipring.PeerGone: "start the server, or wait for it with --wait",
    slipring.NoSpace: "free space with `slipring rm`, or choose another --root; `df -h` shows the free space",
}

_OF_THE_BUS = ("name", "key")  # errors about a bus address, not a topic, already contain the remedy


def describe(error: BaseException) -> str:
    """Return the error in one printable line, with its remedy."""
    if isinstance(error, slipring.SlipringError):
        fix = next((_FIXES[kind] for kind in type(error).__mro__ if kind in _FIXES), "")
        is_of_the_place = (
            isinstance(error, slipring.Denied) and error.argument == "root"
        )  # not the mode of a topic
        if error.argument in _OF_THE_BUS or is_of_the_place:
            fix = ""
        notes = getattr(error, "__notes__", ())  # names that the user may have meant
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
