# SPDX-License-Identifier: Apache-2.0
"""One run of the suite, from what is asked to the document that is kept."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slipring.bench import machine, rounds, targets
from slipring.bench.case import Case
from slipring.bench.floors import Floors, beside
from slipring.bench.grounds import Grounds
from slipring.bench.questions import QUESTIONS, QUICK
from slipring.bench.rivals import is_ours, is_rival
from slipring.bench.rivals_venv import RivalsVenv, cache

FORMAT = 1


@dataclass(frozen=True)
class Plan:
    """What is asked: the questions (none: all of them), how often, how long."""

    quick: bool = False
    only: tuple[str, ...] = ()
    rounds: int = 5
    seconds: float = 0.25
    limit_s: float = 660.0
    rivals: bool = True

    @classmethod
    def of(cls, quick: bool, only: tuple[str, ...] = (), rivals: bool = True, **given: Any) -> Plan:
        """With what was given, and for the rest what suits a quick or a full run."""
        usual = {"rounds": 2, "seconds": 0.1, "limit_s": 50.0} if quick else {}
        chosen = {name: value for name, value in given.items() if value is not None}
        return cls(quick=quick, only=only, rivals=rivals, **{**usual, **chosen})

    @property
    def name(self) -> str:
        """Of the files that are kept."""
        return "-".join(["quick" if self.quick else "full", *self.only])

    def cases(self) -> list[Case]:
        usual = [name for name in QUICK if name in QUESTIONS] if self.quick else QUESTIONS
        asked = [case for name in self.only or usual for case in QUESTIONS[name].cases(self.quick)]
        with_floors = [each for case in asked for each in (*beside(case), case)]
        return [case for case in with_floors if self.rivals or not is_rival(case.transport)]


@dataclass(frozen=True)
class Progress:
    """Where a run is: samples done of so many, and the next one."""

    done: int
    total: int
    text: str


def run(
    plan: Plan,
    progress: Callable[[Progress], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
    venv_in: Path | None = None,
    spark: dict[str, Any] | None = None,
    within: Path | None = None,
) -> dict[str, Any]:
    """Measure, and tell the whole run: JSON can hold it. Leaves nothing behind but the rivals' environment.

    ``venv_in`` is where that is kept, ``within`` where the topics are for as long as it lasts (/dev/shm).
    """
    begun = time.monotonic()
    described = machine.describe()
    venv = RivalsVenv(venv_in or cache())
    failed = venv.make(say) if plan.rivals and not plan.quick else {}
    # Not in /dev/shm, where containers do not let programs be run from.
    with tempfile.TemporaryDirectory(prefix="slipring-bench-") as workshop, rounds.bus_root(within) as root:
        progress(Progress(0, 0, "building the floors"))
        asked = plan.cases()
        grounds = Grounds(Floors(Path(workshop), asked), venv, failed)
        left_out = {case.transport: reason for case in asked if (reason := grounds.reason_against(case))}
        cases = [case for case in asked if grounds.reason_against(case) is None]

        def announce(turn: int, number: int, case: Case) -> None:
            text = f"round {turn + 1}/{plan.rounds}  {case.question}: {case.key}"
            progress(Progress(turn * len(cases) + number, plan.rounds * len(cases), text))

        samples = rounds.take(grounds, root, cases, plan.rounds, plan.seconds, plan.limit_s, announce)
        versions = grounds.versions(cases)
    return {
        "format": FORMAT,
        "plan": asdict(plan),
        "machine": described,
        "versions": versions,
        "left_out": left_out,
        "took_s": round(time.monotonic() - begun, 1),
        "targets": targets.judge(samples, spark),
        "samples": samples,
    }


def failures(document: dict[str, Any]) -> list[str]:
    """What failed of ours; a rival's failure is only its own."""
    failed = [each for each in document["samples"] if "error" in each and is_ours(each["transport"])]
    return list(dict.fromkeys(f"{each['question']}: {each['case']}: {each['error']}" for each in failed))
