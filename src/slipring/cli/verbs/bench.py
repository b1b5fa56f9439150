# SPDX-License-Identifier: Apache-2.0
"""``slipring bench``: the speed of Slipring on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from slipring.bench import report
from slipring.bench.environment import Environment
from slipring.bench.runner import FORMAT, Plan, document_text, failures, run
from slipring.bench.suite import OWN, Suite
from slipring.cli.terminal import output
from slipring.cli.terminal.options import TIMES, Decorator, Target, format_option, period
from slipring.cli.terminal.process_exit import complain
from slipring.cli.terminal.progress_line import Bar
from slipring.units import printable

_OUT = Path("slipring-bench")


def run_options(suite: Suite) -> Decorator:
    """The options for the amount of measurement, and for the place of the samples."""
    options = (
        click.option("--quick", is_flag=True, help="Measure the main cases only: about a minute."),
        click.option(
            "--only",
            type=click.Choice(list(suite.questions)),
            multiple=True,
            metavar="QUESTION",
            help=f"Measure this question only; may be repeated: {', '.join(suite.questions)}.",
        ),
        click.option("--rounds", type=TIMES, help="Number of interleaved rounds.  [default: 5, quick: 2]"),
        click.option(
            "--seconds",
            type=period,
            metavar="SECONDS",
            help="Length of one measured phase.  [default: 0.25, quick: 0.1]",
        ),
        click.option(
            "--limit",
            "limit_s",
            type=period,
            metavar="SECONDS",
            help="Time for all rounds; no round begins that would exceed it.  [default: 660, quick: 50]",
        ),
        click.option(
            "--out",
            type=click.Path(file_okay=False, path_type=Path),
            help=f"Folder for the samples.  [default: {_OUT}; with --format json: none]",
        ),
        click.option(
            "--show",
            "kept",
            type=click.Path(dir_okay=False, exists=True, path_type=Path),
            help="Measure nothing; show the samples of an earlier run.",
        ),
        format_option(),
    )

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.command()
@run_options(OWN)
@click.pass_obj
def command(
    target: Target,
    quick: bool,
    only: tuple[str, ...],
    rounds: int | None,
    seconds: float | None,
    limit_s: float | None,
    out: Path | None,
    kept: Path | None,
    form: str,
) -> int:
    """Measure Slipring on this machine, in interleaved rounds: rates, latencies, wake-ups and bandwidth.

    A full run takes up to eleven minutes, --quick about a minute. Compare figures of one run only: they depend on this
    machine. The run leaves only the samples in --out; its topics are in a temporary directory under --root. In a
    checkout, `make bench` also measures other transports and C programs.
    """
    if kept is not None:
        found = read_kept(kept)
    else:
        out = out or (_OUT if form == "table" else None)
        within = existing_root(target)
        plan = Plan.of(quick, only, rounds=rounds, seconds=seconds, limit_s=limit_s)
        with folder(out), Bar() as bar:
            found = run(plan, Environment(), bar, within)
            keep(found, out, plan)
    show(found, report.tables(OWN, found), report.remarks(OWN, found), form)
    return complain_of(failures(OWN, found))


def existing_root(target: Target) -> Path | None:
    if target.root is not None and not Path(target.root).is_dir():
        raise click.UsageError(f"--root {target.root} is not a directory: create it, or omit --root")
    return Path(target.root) if target.root is not None else None


@contextmanager
def folder(out: Path | None) -> Iterator[None]:
    """Create the directory before measuring, so that a wrong path fails at once; remove it after an interrupted run."""
    if out is None or out.is_dir():
        yield
        return
    out.mkdir(parents=True)
    try:
        yield
    except BaseException:
        out.rmdir()
        raise


def keep(found: dict[str, Any], out: Path | None, plan: Plan) -> None:
    if out is not None:
        (out / f"{plan.name}.json").write_text(document_text(found))
        complain(f"samples: {out / plan.name}.json")


def read_kept(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text())
    except ValueError:
        raise click.BadParameter(f"{file} is not JSON", param_hint="--show") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise click.BadParameter(
            f"{file} is not a run of `slipring bench` of this version", param_hint="--show"
        )
    return found


def show(found: dict[str, Any], shown: list[report.Table], remarks: list[str], form: str) -> None:
    if form == "json":
        output.put_json(found)
        return
    for table in shown:
        columns = [output.Column(name, right=at > 0) for at, name in enumerate(table.header)]
        output.put_table(columns, table.rows, table.title)
        output.put_line("")
    for remark in remarks:
        output.put_line(remark)


def complain_of(failed: list[str]) -> int:
    """Return the exit code of the command."""
    for text in failed:
        complain(printable(f"failed: {text}"))
    return 1 if failed else 0
