# SPDX-License-Identifier: Apache-2.0
"""Search the models of core/models completely with spin."""

import re
import subprocess
from pathlib import Path

MODELS = Path(__file__).resolve().parents[2] / "core/models"
WATCHDOG_S = 300


def verify(model: str, place: Path, **switches) -> str:
    """Return the report of the verifier about the complete state space."""
    defines = [f"-D{name}={value}" for name, value in switches.items()]
    steps = (
        ["spin", *defines, "-a", str(MODELS / model)],
        ["cc", "-O2", "-DSAFETY", "-DCOLLAPSE", "-w", "-o", "pan", "pan.c"],
        ["./pan", "-m100000"],
    )
    for command in steps:
        done = subprocess.run(
            command, cwd=place, capture_output=True, text=True, timeout=WATCHDOG_S, check=True
        )
    print(f"{model} {switches}: {states(done.stdout)} states")
    return done.stdout


def states(report: str) -> int:
    return int(re.search(r"(\d+) states, stored", report)[1])


def errors(report: str) -> int:
    assert "max search depth too small" not in report, report
    return int(re.search(r"errors: (\d+)", report)[1])
