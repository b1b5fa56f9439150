# SPDX-License-Identifier: Apache-2.0
"""Starts the demo as `make demo` does."""

import os
import subprocess
import sys
from pathlib import Path

from support import spark

REPOSITORY = Path(__file__).resolve().parents[2]


def start(*arguments: str, out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "demo", "--seed", "1", "--out", str(out)]
    command += ["--stalled-after", "120", *arguments]  # a watchdog, on a machine that does other work
    java = {} if "--without-spark" in arguments else spark.quick_environment()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=REPOSITORY, env={**os.environ, **java}, **pipes)
