# SPDX-License-Identifier: Apache-2.0
"""The command itself: its options, its verbs, and errors in one line."""

from __future__ import annotations

import importlib
import os
import signal
from typing import TYPE_CHECKING, Any

import click

import slipring
from slipring.cli.terminal import known_names, process_exit
from slipring.cli.terminal.error_text import describe
from slipring.cli.terminal.options import Target, complete_buses

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# The help text of each verb; the module of a verb is imported only when the verb is used.
VERBS = {
    "ls": "List the topics and cells.",
    "buses": "List the buses.",
    "info": "Show everything about one topic.",
    "schema": "Print the schema of a topic.",
    "pub": "Publish arguments or stdin.",
    "sub": "Print messages as they arrive.",
    "hz": "Measure the rate of a topic.",
    "top": "Watch the traffic of all topics.",
    "frames": "List streams of frames; save a frame.",
    "call": "Call a method of a service.",
    "serve-echo": "Serve a few methods for trying calls.",
    "bridge": "Carry topics between hosts.",
    "record": "Record topics into a lake.",
    "replay": "Publish a recording again.",
    "report": "Show rates, sizes, delays, losses and calls of a recording.",
    "lake": "List, verify and compact recordings.",
    "pipeline": "Run declarative pipelines between topics and tables.",
    "bench": "Measure Slipring on this machine.",
    "rm": "Remove topics.",
    "doctor": "Check all topics and this machine; clear leftovers.",
    "completion": "Set up completion of names in the shell.",
}
FOLDERS = {"call": "calls.", "serve-echo": "calls."}  # of verbs/, where a verb is not in verbs/ itself


class Verbs(click.Group):
    """Loads a verb when it is used; the module of its name has its ``command``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = f"{FOLDERS.get(cmd_name, '')}{cmd_name.replace('-', '_')}"
        command: click.Command = importlib.import_module(f"slipring.cli.verbs.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        verbs = [
            CompletionItem(verb, help=said) for verb, said in VERBS.items() if verb.startswith(incomplete)
        ]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        verb = args[0]
        if verb not in VERBS and not verb.startswith("-") and not ctx.resilient_parsing:
            meant = known_names.close(verb, VERBS)
            hint = f": did you mean {meant!r}?" if meant else ""
            raise click.UsageError(f"no such verb {verb!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise process_exit.Stopped(signal.SIGPIPE) from None


@click.group(cls=Verbs, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--bus",
    "name",
    envvar="SLIPRING_BUS",
    default="default",
    metavar="NAME",
    shell_complete=complete_buses,
    help="The bus, a directory of topics.  [default: $SLIPRING_BUS, or default]",
)
@click.option(
    "--root",
    metavar="DIR",
    type=click.Path(),
    help="The directory of the buses.  [default: $SLIPRING_ROOT, or /dev/shm/slipring-<uid>]",
)
@click.version_option(package_name="slipring", message="%(prog)s %(version)s")
@click.pass_context
def app(ctx: click.Context, name: str, root: str | None) -> None:
    """Inspect, read and publish shared-memory topics."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
    ctx.obj = Target(name, root)


def run(command: click.Command | None = None) -> int:
    """Run ``sys.argv`` and return the exit code; 1 for an error, 2 for wrong usage."""
    if "_SLIPRING_COMPLETE" in os.environ:
        from slipring.cli.verbs import completion

        completion.prepare()
    try:
        code = (command or app).main(prog_name=None if command else "slipring", standalone_mode=False)
    except click.Abort:
        process_exit.complain("stopped, nothing was done")
        return 1
    except click.ClickException as error:
        process_exit.complain(f"error: {describe(error)}")
        return error.exit_code
    except slipring.SlipringError as error:
        process_exit.complain(f"error: {describe(error)}")
        return 1
    return code if isinstance(code, int) else 0
