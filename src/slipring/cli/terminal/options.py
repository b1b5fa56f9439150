# SPDX-License-Identifier: Apache-2.0
"""Options and arguments that verbs share."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

import slipring
from slipring._bus.settings import START_WORDS
from slipring.cli.terminal import known_names
from slipring.cli.terminal.framing import Framing
from slipring.units import printable

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True)
class Target:
    """Return the bus of ``--bus`` and ``--root``."""

    name: str
    root: str | None

    def open(self) -> slipring.Bus:
        return slipring.Bus(self.name, root=self.root)

    def command(self) -> str:
        """Return the begin of a command for the same bus."""
        root = [] if self.root is None else ["--root", self.root]
        return shlex.join(["slipring", "--bus", self.name, *root])


def _named_bus(ctx: click.Context) -> tuple[str, str | None]:
    """Return the bus and root of an incomplete command line."""
    given = ctx.find_root().params
    return given.get("name") or "default", given.get("root")


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def complete_buses(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return _beginning(known_names.buses(_named_bus(ctx)[1]), incomplete)


def complete_topics(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return _beginning(known_names.topics(*_named_bus(ctx)), incomplete)


def complete_contents(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return _beginning(known_names.contents(*_named_bus(ctx)), incomplete)


def complete_services(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return _beginning(known_names.services(known_names.topics(*_named_bus(ctx))), incomplete)


def complete_cursors(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the cursors of the topic that is already typed, else of all topics."""
    bus = _named_bus(ctx)
    topic = ctx.params.get("topic")
    of = [topic] if topic else known_names.topics(*bus)
    return _beginning(known_names.cursors(*bus, of), incomplete)


def complete_sources(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the topics of the bus of `--from`, else of `--bus`."""
    name, root = _named_bus(ctx)
    source = ctx.params.get("source") or name
    return _beginning(known_names.topics(source, None if "://" in source else root), incomplete)


def complete_lakes(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return lakes, then other directories. Without a lake, the shell completes directories by itself."""
    from click.shell_completion import CompletionItem

    lakes, others = known_names.lakes(incomplete)
    if not lakes:
        return [CompletionItem(incomplete, type="dir")]
    return [
        *(CompletionItem(path, help="lake") for path in lakes),
        *(CompletionItem(f"{path}/", help="directory") for path in others),
    ]


def text(value: str) -> str:
    """A sender or type, which is UTF-8; an argument may be any bytes."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise click.BadParameter(f"{printable(value)} is not UTF-8") from None
    return value


def seconds(value: str) -> float:
    """A number of seconds that may be zero."""
    return _number(value, lowest="zero or more", fits=lambda found: found >= 0)


def period(value: str) -> float:
    """A number of seconds above zero."""
    return _number(value, lowest="above zero", fits=lambda found: found > 0)


def start(value: str) -> str | int:
    """The start of a subscriber: a word, or a sequence."""
    if value in START_WORDS:
        return value
    try:
        return int(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is neither {', '.join(START_WORDS)} nor a sequence number"
        ) from None


def _number(value: str, lowest: str, fits: Callable[[float], bool]) -> float:
    try:
        found = float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a number") from None
    if not fits(found):  # nan is outside every range
        raise click.BadParameter(f"{value} is not {lowest}")
    return found


TIMES = click.IntRange(min=1)


def format_option(human: str = "table") -> Decorator:
    """``--format``: text or a table, or JSON."""
    return click.option(
        "--format",
        "form",
        type=click.Choice([human, "json"]),
        default=human,
        show_default=True,
        help="Output format.",
    )


master_option = click.option(
    "--master", metavar="URL", help="Master of Spark.  [default: all processors of this machine]"
)


def framing_options(raw: str) -> Decorator:
    """``--null``, ``--length-prefixed`` and ``--raw``: the separation of bodies in a pipe."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for flag, framing, explanation in (
            ("--raw", Framing.RAW, raw),
            (
                "--length-prefixed",
                Framing.LENGTH,
                "Put the length, 4 bytes big-endian, before each body, which may be any bytes.",
            ),
            ("--null", Framing.NULL, "End each body with a zero byte instead of a newline."),
        ):
            command = click.option(
                flag, "framing", flag_value=framing.value, type=str, default=None, help=explanation
            )(command)
        return command

    return decorate


def words(given: tuple[str, ...]) -> list[str]:
    """Return the values of an option that may be repeated and may have several, separated by commas."""
    return [word for value in given for word in value.split(",")]


def sleep_until(due: float) -> None:
    """Sleep until ``time.monotonic()`` reaches ``due``, at any distance."""
    while (left := due - time.monotonic()) > 0:
        time.sleep(min(left, 3600.0))
