# SPDX-License-Identifier: Apache-2.0
"""One run, from what is asked to the document that is kept."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from slipring.bench import machine, rounds
from slipring.bench.case import Case
from slipring.bench.environment import Environment
from slipring.bench.suite import Suite

FORMAT = 1


@dataclass(frozen=True)
class Plan:
    """What is asked: the questions (none: all of them), how often, how long."""

    quick: bool = False
    only: tuple[str, ...] = ()
    rounds: int = 5
    seconds: float = 0.25
    limit_s: float = 660.0

    @classmethod
    def of(cls, quick: bool, only: tuple[str, ...] = (), **given: Any) -> Self:
        """With what was given, and for the rest what suits a quick or a full run."""
        usual = {"rounds": 2, "seconds": 0.1, "limit_s": 50.0} if quick else {}
        chosen = {name: value for name, value in given.items() if value is not None}
        return cls(quick=quick, only=only, **{**usual, **chosen})

    @property
    def name(self) -> str:
        """Of the files that are kept."""
        return "-".join(["quick" if self.quick else "full", *self.only])

    def cases(self, suite: Suite) -> list[Case]:
        """Those of ours; questions name cases of others too, which are measured in a checkout."""
        asked = (suite.questions[name].cases(self.quick) for name in self.only or suite.questions)
        return [case for cases in asked for case in cases if suite.is_ours(case.transport)]


@dataclass(frozen=True)
class Progress:
    """Where a run is: samples done of so many, and the next one."""

    done: int
    total: int
    text: str


def run(
    plan: Plan,
    environment: Environment,
    progress: Callable[[Progress], None] = lambda _: None,
    within: Path | None = None,
) -> dict[str, Any]:
    """Measure; the whole run as JSON can hold it. Topics are below ``within`` (/dev/shm) as long as it lasts."""
    begun = time.monotonic()
    described = machine.describe()
    asked = plan.cases(environment.suite)
    left_out = {case.transport: reason for case in asked if (reason := environment.reason_against(case))}
    cases = [case for case in asked if environment.reason_against(case) is None]

    def announce(turn: int, number: int, case: Case) -> None:
        text = f"round {turn + 1}/{plan.rounds}  {case.question}: {case.key}"
        progress(Progress(turn * len(cases) + number, plan.rounds * len(cases), text))

    with rounds.bus_root(within) as root:
        samples = rounds.take(environment, root, cases, plan.rounds, plan.seconds, plan.limit_s, announce)
    return {
        "format": FORMAT,
        "plan": asdict(plan),
        "machine": described,
        "versions": environment.versions(cases),
        "left_out": left_out,
        "took_s": round(time.monotonic() - begun, 1),
        "samples": samples,
    }


def failures(suite: Suite, document: dict[str, Any]) -> list[str]:
    """What failed of ours; a failure of another transport is a result."""
    failed = [each for each in document["samples"] if "error" in each and suite.is_ours(each["transport"])]
    return list(dict.fromkeys(f"{each['question']}: {each['case']}: {each['error']}" for each in failed))


def document_text(document: dict[str, Any]) -> str:
    """As it is kept: a line for each sample, so that two runs can be compared line by line."""
    return f"{_lines(document, '')}\n"


def _lines(value: Any, margin: str) -> str:
    """Objects of objects or lists, and lists of objects, line by line; anything else in one line."""
    inner = margin + " "
    if isinstance(value, dict) and (
        not margin or any(each and isinstance(each, dict | list) for each in value.values())
    ):
        return _block("{}", [f"{json.dumps(str(key))}: {_lines(value[key], inner)}" for key in value], margin)
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return _block("[]", [json.dumps(each) for each in value], margin)
    return json.dumps(value)


def _block(ends: str, items: list[str], margin: str) -> str:
    apart = f",\n{margin} "
    return f"{ends[0]}\n{margin} {apart.join(items)}\n{margin}{ends[1]}"
