# SPDX-License-Identifier: Apache-2.0
"""Where cases are measured: in fresh processes of this interpreter."""

from __future__ import annotations

import re
import sys
from importlib.metadata import distributions
from pathlib import Path

from slipring.bench.case import Case
from slipring.bench.suite import OURS, OWN, Suite

EXTRAS = {"pyarrow": "arrow", "msgspec": "calls", "numpy": "numpy"}
Command = list[str | Path]


def canonical(name: str) -> str:
    """A package's name as everybody means it: posix_ipc and posix-ipc are one."""
    return re.sub("[-_.]+", "-", name).lower()


class Environment:
    suite: Suite = OWN

    def __init__(self) -> None:
        self.installed = {canonical(found.name): found.version for found in distributions()}

    def reason_against(self, case: Case) -> str | None:
        """Why a case cannot be measured here, with what would help; None when it can."""
        also = self.suite.homes[case.transport].also
        wanted = [*([also] if also else []), *getattr(self.suite.questions[case.question], "NEEDS", ())]
        missing = [package for package in wanted if package not in self.installed]
        if not missing:
            return None
        extras = ",".join(EXTRAS[package] for package in missing)
        return f'needs {" and ".join(missing)}: pip install "slipring[{extras}]"'

    def command(self, case: Case, place: Path, seconds: float) -> Command:
        """Takes one sample and prints it as JSON."""
        module = [sys.executable, "-P", "-m", "slipring.bench.sample"]
        return [*module, case.to_json(), place, str(seconds)]

    def versions(self, cases: list[Case]) -> dict[str, str]:
        """Of the packages that were measured."""
        return {OURS: self.installed.get(OURS, "unknown")}
