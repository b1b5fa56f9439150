# SPDX-License-Identifier: Apache-2.0
"""``slipring pipeline init|run``: Spark's declarative pipelines between topics and tables."""

from __future__ import annotations

import click

from slipring.cli.terminal import output
from slipring.cli.terminal.options import Target
from slipring.cli.terminal.process_exit import complain


@click.group(short_help="Run declarative pipelines between topics and tables.")
def command() -> None:
    """Run Spark's declarative pipelines (spark-pipelines) with topics as sources and sinks."""


@command.command(short_help="Write an example project.")
@click.argument("directory")
def init(directory: str) -> None:
    """Write a commented example project into DIRECTORY: from a topic to a table to a topic."""
    from slipring.pipelines import declarative

    for path in declarative.init(directory):
        output.put_line(str(path))
    complain(f"run it with `slipring pipeline run {directory}`")


@command.command(short_help="Run a pipeline once.")
@click.argument("path", metavar="FILE")
@click.option("--master", metavar="URL", help="local[N,4], or a Connect server: sc://HOST.")
@click.option("--dry-run", "dry", is_flag=True, help="Check the definitions only.")
@click.option(
    "--full-refresh",
    multiple=True,
    metavar="TABLE",
    help="Recompute this table from the beginning; may be repeated.",
)
@click.option("--full-refresh-all", is_flag=True, help="Recompute all tables from the beginning.")
@click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A setting of Spark; may be repeated.")
@click.pass_obj
def run(
    target: Target,
    path: str,
    master: str | None,
    dry: bool,
    full_refresh: tuple[str, ...],
    full_refresh_all: bool,
    conf: tuple[str, ...],
) -> None:
    """Run the pipeline of FILE, a spark-pipeline.yml or its directory, once for all new messages.

    Its definitions read --bus and --root from $SLIPRING_BUS and $SLIPRING_ROOT. Tables are stored beside the file,
    except by a Connect server (--master sc://HOST), which stores them elsewhere.
    """
    from slipring.pipelines import declarative

    settings = dict(_setting(text) for text in conf)
    declarative.run(
        path,
        bus=target.name,
        root=target.root,
        master=master,
        full_refresh=full_refresh,
        full_refresh_all=full_refresh_all,
        dry=dry,
        on_line=_put,
        **settings,
    )


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise click.BadParameter(f"{text!r} is not of the form spark.NAME=VALUE", param_hint="--conf")
    return name, value


def _put(line: str) -> None:
    """The lines that show progress; an error repeats the rest."""
    if ": Flow " in line or line.endswith("COMPLETED."):
        complain(line.partition(": ")[2])
