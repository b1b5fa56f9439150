# SPDX-License-Identifier: Apache-2.0
"""In a short soak with two leaking processes, the leaks are the only failed claims."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
HOURS = 11 / 3600


@pytest.mark.timeout(900)
def test_leaks_of_memory_and_descriptors_fail_the_verdict_of_a_soak(tmp_path):
    command = [sys.executable, "-m", "soak", "--hours", str(HOURS), "--without-spark", "--out", str(tmp_path)]
    command += ["--stalled-after", "120", "--leak", "lossy-into=memory", "--leak", "lossy-steady=descriptors"]
    environment = {**os.environ, "PYTHONPATH": f"tests{os.pathsep}."}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    told = json.loads((tmp_path / "soak.json").read_text())
    failed = {claim["claim"]: claim["detail"] for claim in told["claims"] if not claim["passed"]}
    print(done.stdout)
    assert set(failed) == {"Memory of survivors and supervisor is flat (KiB)", "Descriptors are flat"}, (
        done.stderr
    )
    assert "lossy-into" in failed["Memory of survivors and supervisor is flat (KiB)"]
    assert "lossy-steady" in failed["Descriptors are flat"]
    assert done.returncode == 1
    assert told["figures"]["kills"] > 0
    assert "FAIL" in (tmp_path / "soak.html").read_text()
