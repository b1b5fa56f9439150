# SPDX-License-Identifier: Apache-2.0
"""The core's own programs (core/tests), plain and under the sanitizers."""

import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(1500)
@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_core_keeps_its_promises_plain_and_under_sanitizers():
    run = subprocess.run(
        ["sh", "core/tests/run-all.sh"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    print(run.stdout)
    assert run.returncode == 0, run.stdout[-8000:]
