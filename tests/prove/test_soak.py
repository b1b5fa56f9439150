# SPDX-License-Identifier: Apache-2.0
"""All claims of a soak with kills and a recording by Spark hold. It takes SLIPRING_SOAK_SECONDS."""

import json
import os
import subprocess
import sys

import pytest

from support.core_build import REPOSITORY
from support.patience import scaled

SECONDS = float(os.environ.get("SLIPRING_SOAK_SECONDS", "240"))


@pytest.mark.timeout(0)
def test_every_claim_of_a_soak_holds(tmp_path, record_property):
    command = [sys.executable, "-m", "soak", "--hours", str(SECONDS / 3600), "--out", str(tmp_path)]
    command += ["--stalled-after", str(scaled(40))]
    environment = {**os.environ, "PYTHONPATH": f"tests{os.pathsep}."}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    print(done.stdout[-4000:], done.stderr[-4000:])
    report = json.loads((tmp_path / "soak.json").read_text())
    failed = [claim for claim in report["claims"] if not claim["passed"]]
    assert not failed and done.returncode == 0, failed
    record_property("kills of the soak", report["figures"]["kills"])
