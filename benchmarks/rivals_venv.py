# SPDX-License-Identifier: Apache-2.0
"""The rivals' own virtual environment, so that they never meet the project's dependencies."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from slipring.bench import process_group
from slipring.bench.environment import canonical

REQUIREMENTS = Path(__file__).parent / "rivals" / "requirements.txt"
INSTALL_TIMEOUT_S = 300
_LIST = (
    "import json; from importlib.metadata import distributions;"
    "print(json.dumps({found.name: found.version for found in distributions()}))"
)


def requirements() -> list[str]:
    lines = REQUIREMENTS.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


class RivalsVenv:
    def __init__(self, cache: Path) -> None:
        self.folder = cache / f"rivals-{sys.implementation.cache_tag}"
        self.python = self.folder / "bin" / "python"

    def make(self, say: Callable[[str], None]) -> dict[str, str]:
        """Make or reuse the environment; returns the packages that could not be installed, each with the reason."""
        installed_from = self.folder / "installed-from"
        wanted = "\n".join(requirements())
        if installed_from.exists() and installed_from.read_text() == wanted:
            return {}
        say(f"installing the rivals into {self.folder}, once")
        if not self.python.exists():
            # The same interpreter as ours: otherwise Python versions would be compared.
            subprocess.run([sys.executable, "-m", "venv", self.folder], check=True)
        missing: dict[str, str] = {}
        for requirement in requirements():
            say(f"installing {requirement}")
            if reason := self._install(requirement):
                missing[canonical(re.split("[<>=]", requirement)[0])] = reason
                say(f"{requirement} is left out: {reason}")
        if not missing:
            installed_from.write_text(wanted)
        return missing

    def _install(self, requirement: str) -> str | None:
        command = [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        try:
            done = process_group.run([*command, requirement], INSTALL_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return "pip took too long"
        if done.returncode == 0:
            return None
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        return errors[-1] if errors else f"pip ended with {done.returncode}"

    def versions(self) -> dict[str, str]:
        """What it holds, by name; nothing when it was never made."""
        if not self.python.exists():
            return {}
        done = subprocess.run([self.python, "-c", _LIST], capture_output=True, text=True, check=True)
        return {canonical(name): version for name, version in json.loads(done.stdout).items()}
