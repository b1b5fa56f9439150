# SPDX-License-Identifier: Apache-2.0
"""Starts the demo as `make demo` does."""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def start(*arguments: str, out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "demo", "--seed", "1", "--out", str(out)]
    command += ["--stalled-after", "120", *arguments]  # a watchdog, on a machine that does other work
    return subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
