# SPDX-License-Identifier: Apache-2.0
"""The demo is not part of the package: tests import it from the repository.

Tests that only inspect the output of a run share one short run.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from demo_program import start


@pytest.fixture(scope="session")
def show(tmp_path_factory):
    """(pid, exit code, what it printed, its report's directory)"""
    out = tmp_path_factory.mktemp("demo") / "report"
    with start("--seconds", "4", "--without-spark", out=out) as process:
        printed, _ = process.communicate(timeout=800)
    return process.pid, process.returncode, printed, out
