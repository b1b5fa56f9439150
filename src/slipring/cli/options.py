# SPDX-License-Identifier: Apache-2.0
"""What the verbs share on the command line."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

import slipring
from slipring.cli.framing import Framing

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True)
class Target:
    """The bus that ``--bus`` and ``--root`` name."""

    name: str
    root: str | None

    def open(self) -> slipring.Bus:
        return slipring.Bus(self.name, root=self.root)


class Number(click.ParamType):
    """A number not below zero, without the surprises of ``nan``."""

    def __init__(self, name: str, *, zero: bool) -> None:
        self.name = name
        self.zero = zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            found = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)
        if math.isnan(found) or found < 0 or (found == 0 and not self.zero):
            self.fail(f"{value} is not {'zero or more' if self.zero else 'above zero'}", param, ctx)
        return found


class Start(click.ParamType):
    """Where a subscriber begins: a word, or a sequence."""

    name = "new|last|oldest|SEQ"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        if value in ("new", "last", "oldest"):
            return str(value)
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither new, last, oldest nor a sequence number", param, ctx)


SECONDS = Number("seconds", zero=True)
PERIOD = Number("seconds", zero=False)
HERTZ = Number("hz", zero=False)
TIMES = click.IntRange(min=1)


def format_option(text: str = "table") -> Decorator:
    """``--format``: for the eye, or JSON."""
    return click.option(
        "--format",
        "form",
        type=click.Choice([text, "json"]),
        default=text,
        show_default=True,
        help="Output format.",
    )


def framing_options(raw: str) -> Decorator:
    """``--null``, ``--length-prefixed`` and ``--raw``: how bodies follow each other in a pipe."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for flag, framing, text in (
            ("--raw", Framing.RAW, raw),
            (
                "--length-prefixed",
                Framing.LENGTH,
                "Each body follows its length as 4 bytes, big-endian: any bytes.",
            ),
            ("--null", Framing.NULL, "Each body ends with a zero byte instead of a newline."),
        ):
            command = click.option(
                flag, "framing", flag_value=framing.value, type=str, default=None, help=text
            )(command)
        return command

    return decorate


def words(given: tuple[str, ...]) -> list[str]:
    """The values of an option that may be repeated and may hold several, apart by commas."""
    return [word for value in given for word in value.split(",")]


def sleep_until(due: float) -> None:
    """Sleep until ``time.monotonic()`` reaches ``due``, however far away that is."""
    while (left := due - time.monotonic()) > 0:
        time.sleep(min(left, 3600.0))
