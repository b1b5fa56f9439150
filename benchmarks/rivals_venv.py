# SPDX-License-Identifier: Apache-2.0
"""The rivals' own virtual environment, so that they never meet the project's dependencies."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
VENV = HERE / ".venv-rivals"
PYTHON = VENV / "bin" / "python"
REQUIREMENTS = HERE / "rivals" / "requirements.txt"
INSTALL_TIMEOUT_S = 300


def requirements() -> list[str]:
    lines = REQUIREMENTS.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def make() -> dict[str, str]:
    """Make or reuse the environment; returns what could not be installed, with the reason."""
    installed_from = VENV / "installed-from"
    wanted = "\n".join(requirements())
    if installed_from.exists() and installed_from.read_text() == wanted:
        return {}
    print(f"setting up the rivals in {VENV}")
    if not PYTHON.exists():
        # The same interpreter as ours: otherwise Python versions would be compared.
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    missing = {}
    for requirement in requirements():
        if reason := _install(requirement):
            missing[requirement] = reason
            print(f"  {requirement}: not installed ({reason})")
    if not missing:
        installed_from.write_text(wanted)
    return missing


def _install(requirement: str) -> str | None:
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return "pip took too long"
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return errors[-1] if errors else f"pip ended with {done.returncode}"
