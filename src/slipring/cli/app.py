# SPDX-License-Identifier: Apache-2.0
"""The command itself: its options, its verbs, and errors in one line."""

from __future__ import annotations

import importlib
import signal
from typing import Any

import click

import slipring
from slipring.cli import endings
from slipring.cli.failures import describe
from slipring.cli.options import Target

VERBS = (
    "ls",
    "info",
    "pub",
    "sub",
    "hz",
    "top",
    "frames",
    "call",
    "serve-echo",
    "bridge",
    "record",
    "replay",
    "report",
    "lake",
    "pipeline",
    "bench",
    "rm",
    "doctor",
)


class Verbs(click.Group):
    """A verb is loaded when it is used; the module of its name holds its ``command``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"slipring.cli.{cmd_name.replace('-', '_')}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise endings.Stopped(signal.SIGPIPE) from None


@click.group(cls=Verbs, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--bus",
    "name",
    default="default",
    show_default=True,
    metavar="NAME",
    help="The bus: a directory of topics.",
)
@click.option(
    "--root", metavar="DIR", help="Where buses live; else $SLIPRING_ROOT, else /dev/shm/slipring-<uid>."
)
@click.version_option(package_name="slipring", message="%(prog)s %(version)s")
@click.pass_context
def app(ctx: click.Context, name: str, root: str | None) -> None:
    """Look at, read from and publish to shared-memory topics."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
    ctx.obj = Target(name, root)


def run() -> int:
    """Run ``sys.argv`` and return the exit code; 1 for an error, 2 for wrong usage."""
    try:
        code = app.main(prog_name="slipring", standalone_mode=False)
    except click.Abort:
        endings.complain("stopped, nothing was done")
        return 1
    except click.ClickException as error:
        endings.complain(f"error: {describe(error)}")
        return error.exit_code
    except slipring.SlipringError as error:
        endings.complain(f"error: {describe(error)}")
        return 1
    return code if isinstance(code, int) else 0
