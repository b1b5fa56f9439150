# SPDX-License-Identifier: Apache-2.0
"""``slipring bench``: what this machine does with Slipring, its rivals and bare C."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from slipring.bench import plot, report, textplot
from slipring.bench.questions import QUESTIONS
from slipring.bench.rivals_venv import cache
from slipring.bench.run import FORMAT, Plan, failures, run
from slipring.bench.targets import judge, kept_spark
from slipring.cli import tables
from slipring.cli.endings import complain
from slipring.cli.options import TIMES, Target, format_option, period
from slipring.cli.progress import Bar
from slipring.cli.units import printable

EXTRA = 'pip install "slipring[bench]"'
_OUT = Path("slipring-bench")


@click.command()
@click.option(
    "--quick", is_flag=True, help="The main cases, with the rivals that are installed: about a minute."
)
@click.option(
    "--only",
    type=click.Choice(list(QUESTIONS)),
    multiple=True,
    metavar="QUESTION",
    help=f"Ask this question only; may be repeated: {', '.join(QUESTIONS)}.",
)
@click.option("--rounds", type=TIMES, help="Interleaved rounds of samples.  [default: 5, quick: 2]")
@click.option(
    "--seconds",
    type=period,
    metavar="SECONDS",
    help="Length of one measured phase.  [default: 0.25, quick: 0.1]",
)
@click.option(
    "--limit",
    "limit_s",
    type=period,
    metavar="SECONDS",
    help="Begin no round that would not end within it.  [default: 660, quick: 50]",
)
@click.option("--no-rivals", is_flag=True, help="Slipring and the floors only.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help=f"Folder for the samples and the picture.  [default: {_OUT}; with --format json: none]",
)
@click.option(
    "--cache",
    "venv_in",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where a full run installs the rivals, apart from everything else.  [default: ~/.cache/slipring]",
)
@click.option(
    "--show",
    "kept",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="Measure nothing; show a run that was kept.",
)
@format_option()
@click.pass_obj
def command(
    target: Target,
    quick: bool,
    only: tuple[str, ...],
    rounds: int | None,
    seconds: float | None,
    limit_s: float | None,
    no_rivals: bool,
    out: Path | None,
    venv_in: Path | None,
    kept: Path | None,
    form: str,
) -> int:
    """Measure Slipring beside its rivals and beside bare C, in interleaved rounds, and tell it as tables.

    A full run takes about eleven minutes and installs the rivals apart from everything else; --quick takes a minute
    and what is there. Times are this machine's; compare within a run. Nothing is left behind but what is kept
    under --out, and the rivals under --cache. The topics are in a directory of their own under --root, for as
    long as it takes.
    """
    if kept is not None:
        found, out = _kept(kept), out or kept.parent
    else:
        out = out or (_OUT if form == "table" else None)
        plan = Plan.of(quick, only, not no_rivals, rounds=rounds, seconds=seconds, limit_s=limit_s)
        with _folder(out):
            found = _measured(plan, target, out, venv_in or cache())
    if form == "json":
        tables.put_json(found)
    else:
        _put(found)
    if out is not None:
        _draw(found, out / (kept.stem if kept else plan.name), form)
    for text in failures(found):
        complain(printable(f"failed: {text}"))
    return 1 if failures(found) else 0


@contextmanager
def _folder(out: Path | None) -> Iterator[None]:
    """Made before anything is measured, so that a wrong one is told at once; an interrupted run leaves none."""
    if out is None or out.is_dir():
        yield
        return
    out.mkdir(parents=True)
    try:
        yield
    except BaseException:
        out.rmdir()
        raise


def _measured(plan: Plan, target: Target, out: Path | None, venv_in: Path) -> dict[str, Any]:
    if target.root is not None and not Path(target.root).is_dir():
        raise click.UsageError(f"--root {target.root} is not a directory: make it, or leave --root out")
    within = Path(target.root) if target.root is not None else None
    with Bar() as bar:
        found = run(plan, bar, bar.say, venv_in, kept_spark(out), within)
    if out is not None:
        (out / f"{plan.name}.json").write_text(json.dumps(found, indent=1) + "\n")
        complain(f"samples: {out / plan.name}.json")
    return found


def _kept(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text())
    except ValueError:
        raise click.BadParameter(f"{file} is not JSON", param_hint="--show") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise click.BadParameter(
            f"{file} is not a run of this version's `slipring bench`", param_hint="--show"
        )
    found["targets"] = judge(found["samples"], kept_spark(file.parent))
    return found


def _put(found: dict[str, Any]) -> None:
    for table in report.tables(found):
        columns = [tables.Column(name, right=at > 0) for at, name in enumerate(table.header)]
        tables.put_table(columns, table.rows, table.title)
        tables.put_line("")
    for remark in report.remarks(found):
        tables.put_line(remark)


def _draw(found: dict[str, Any], name: Path, form: str) -> None:
    """As ``name``.png, or in text where there is nothing to draw it with."""
    if importlib.util.find_spec("matplotlib") is not None:
        if plot.draw(found, name.with_suffix(".png")):
            complain(f"picture: {name}.png")
        return
    if form == "table":
        for line in textplot.lines(found["samples"]):
            tables.put_line(line)
    complain(f"no picture: matplotlib is missing: {EXTRA}")
