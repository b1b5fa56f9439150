# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks``: as `slipring bench`, with rivals, C programs, targets and a picture, and more questions."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from benchmarks import plot, target, targets
from benchmarks.environments import Environments
from benchmarks.floors import Floors, beside
from benchmarks.rivals_venv import RivalsVenv
from benchmarks.suite import ALL, is_rival
from slipring.bench import report
from slipring.bench.case import Case
from slipring.bench.runner import Plan, Progress, failures, run
from slipring.bench.suite import OWN, Suite
from slipring.cli import main
from slipring.cli.terminal.process_exit import complain
from slipring.cli.terminal.progress_line import Bar
from slipring.cli.verbs import bench

HERE = Path(__file__).parent


@dataclass(frozen=True)
class FullPlan(Plan):
    rivals: bool = True

    def cases(self, suite: Suite) -> list[Case]:
        """Each beside the C programs that do the same; a quick run asks what `slipring bench` does."""
        names = self.only or (OWN.questions if self.quick else suite.questions)
        asked = (case for name in names for case in suite.questions[name].cases(self.quick))
        with_floors = (each for case in asked for each in (*beside(case), case))
        return [case for case in with_floors if self.rivals or not is_rival(case.transport)]


@click.command()
@click.option("--no-rivals", is_flag=True, help="Slipring and C programs only.")
@click.option(
    "--cache",
    "venv_in",
    type=click.Path(file_okay=False, path_type=Path),
    default=HERE / ".cache",
    help="Where a full run installs the rivals, apart from everything else.  [default: benchmarks/.cache]",
)
@bench.run_options(ALL)
def command(
    no_rivals: bool,
    venv_in: Path,
    quick: bool,
    only: tuple[str, ...],
    rounds: int | None,
    seconds: float | None,
    limit_s: float | None,
    out: Path | None,
    kept: Path | None,
    form: str,
) -> int:
    """Measure Slipring beside its rivals and beside C programs, in interleaved rounds; tables, targets, a picture.

    A full run takes about eleven minutes and installs the rivals apart from everything else; --quick takes a minute
    and the rivals that are installed. Samples and picture go to benchmarks/results (--out).
    """
    if kept is not None:
        found, out = bench.read_kept(kept), out or kept.parent
        found["targets"] = targets.judge(found["samples"], targets.kept_spark(out))
    else:
        out = out or (HERE / "results" if form == "table" else None)
        plan = FullPlan.of(quick, only, rivals=not no_rivals, rounds=rounds, seconds=seconds, limit_s=limit_s)
        with bench.folder(out), Bar() as bar:
            found = measure(plan, venv_in, bar, bar.say)
            found["targets"] = targets.judge(found["samples"], targets.kept_spark(out))
            bench.keep(found, out, plan)
    verdicts = targets.asked(found["targets"], found["plan"]["only"])
    shown = [*report.tables(ALL, found), *([target.table(verdicts)] if verdicts else [])]
    bench.show(found, shown, report.remarks(ALL, found), form)
    if out is not None:
        picture = out / (f"{kept.stem}.png" if kept else f"{plan.name}.png")
        if plot.draw(found, picture):
            complain(f"picture: {picture}")
    return bench.complain_of(failures(ALL, found))


def measure(
    plan: FullPlan,
    venv_in: Path,
    progress: Callable[[Progress], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Install what is missing of the rivals, build the C programs, and run; only the rivals are left behind."""
    venv = RivalsVenv(venv_in)
    failed = venv.make(say) if plan.rivals and not plan.quick else {}
    # Not in /dev/shm, where containers do not let programs be run from.
    with tempfile.TemporaryDirectory(prefix="slipring-bench-") as workshop:
        progress(Progress(0, 0, "building the C programs"))
        floors = Floors(Path(workshop), plan.cases(ALL))
        return run(plan, Environments(floors, venv, failed), progress)


if __name__ == "__main__":
    main(command)
