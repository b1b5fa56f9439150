# SPDX-License-Identifier: Apache-2.0
"""Where each case is run, or why it is not: our interpreter, the rivals', or a program of C.

A rival is run in the rivals' environment when that has been made, else in ours when its package is there.
"""

from __future__ import annotations

import sys
from importlib.metadata import distributions
from pathlib import Path

from slipring.bench.case import Case
from slipring.bench.floors import PROGRAMS, Floors
from slipring.bench.questions import QUESTIONS
from slipring.bench.rivals import HOMES, is_floor, is_ours
from slipring.bench.rivals_venv import RivalsVenv, canonical

SAMPLE = "slipring.bench.sample"
HOLLOW = Path(__file__).with_name("hollow.py")
EXTRA = 'pip install "slipring[bench]"'
Command = list[str | Path]


class Grounds:
    def __init__(self, floors: Floors, venv: RivalsVenv, failed: dict[str, str] | None = None) -> None:
        self.floors = floors
        self.venv = venv
        self.failed = failed or {}  # packages that could not be installed, and why
        self.here = {canonical(found.name): found.version for found in distributions()}
        self.there = venv.versions()

    def reason_against(self, case: Case) -> str | None:
        """Why a case cannot be run here, with what would help; None when it can."""
        if is_floor(case.transport):
            return self.floors.reasons.get(PROGRAMS[case.transport])
        home = HOMES[case.transport]
        wanted = [] if home.also is None else [home.also]
        if is_ours(case.transport):
            wanted += getattr(QUESTIONS[case.question], "NEEDS", ())
            missing = [package for package in wanted if package not in self.here]
            return f"needs {' and '.join(missing)}: {EXTRA}" if missing else None
        if home.package is None or home.package in self.there or home.package in self.here:
            return None
        if home.package in self.failed:
            return f"{home.package} could not be installed: {self.failed[home.package]}"
        return f"needs {home.package}: a full run installs it apart from everything else"

    def command(self, case: Case, place: Path, seconds: float) -> Command:
        if is_floor(case.transport):
            settings = [f"{name}={value}" for name, value in case.settings.items()]
            program = self.floors.programs[PROGRAMS[case.transport]]
            return [program, case.question, case.transport, place, str(seconds), *settings]
        return [*self._python(case.transport), SAMPLE, case.to_json(), place, str(seconds)]

    def _python(self, transport: str) -> Command:
        if not is_ours(transport) and HOMES[transport].package in self.there:
            return [self.venv.python, "-P", HOLLOW]
        return [sys.executable, "-P", "-m"]

    def versions(self, cases: list[Case]) -> dict[str, str]:
        """Of the packages that were measured."""
        packages = dict.fromkeys(
            HOMES[case.transport].package for case in cases if not is_floor(case.transport)
        )
        found = {**self.here, **self.there, "slipring": self.here.get("slipring", "unknown")}
        return {package: found[package] for package in packages if package in found}
