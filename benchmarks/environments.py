# SPDX-License-Identifier: Apache-2.0
"""Where each case is run, or why it is not: our interpreter, the rivals', or a program of C.

A rival is run in the rivals' environment when that has been made, else in ours when its package is there.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.floors import PROGRAMS, Floors
from benchmarks.rivals_venv import RivalsVenv
from benchmarks.suite import ALL, is_floor
from slipring.bench.case import Case
from slipring.bench.environment import Command, Environment

ISOLATED_IMPORT = Path(__file__).with_name("isolated_import.py")


class Environments(Environment):
    suite = ALL

    def __init__(self, floors: Floors, venv: RivalsVenv, failed: dict[str, str] | None = None) -> None:
        super().__init__()
        self.floors = floors
        self.venv = venv
        self.failed = failed or {}  # packages that could not be installed, and why
        self.of_rivals = venv.versions()

    def reason_against(self, case: Case) -> str | None:
        if is_floor(case.transport):
            return self.floors.reasons.get(PROGRAMS[case.transport])
        package = ALL.homes[case.transport].package
        if package is None or package in self.of_rivals or package in self.installed:
            return super().reason_against(case)
        if package in self.failed:
            return f"{package} could not be installed: {self.failed[package]}"
        return f"needs {package}: a full run installs it apart from everything else"

    def command(self, case: Case, place: Path, seconds: float) -> Command:
        if is_floor(case.transport):
            settings = [f"{name}={value}" for name, value in case.settings.items()]
            program = self.floors.programs[PROGRAMS[case.transport]]
            return [program, case.question, case.transport, place, str(seconds), *settings]
        rival = not ALL.is_ours(case.transport) and ALL.homes[case.transport].package in self.of_rivals
        python = self.venv.python if rival else sys.executable
        return [python, "-P", ISOLATED_IMPORT, "benchmarks.sample", case.to_json(), place, str(seconds)]

    def versions(self, cases: list[Case]) -> dict[str, str]:
        found = {**self.installed, **self.of_rivals, **super().versions(cases)}
        measured = (ALL.homes[case.transport].package for case in cases if not is_floor(case.transport))
        return {package: found[package] for package in dict.fromkeys(measured) if package in found}
