# SPDX-License-Identifier: Apache-2.0
"""Each bounds check, cleanup and error that is taken away is noticed: by the committed inputs alone, or by the fault
injector."""

import subprocess

import pytest

from fuzz import defects, running
from support.waiting import WATCHDOG_S

PROGRAMS = ("faults", "clock")  # which need no inputs
BY_INPUTS = [defect for defect in defects.listed() if defect["target"] not in PROGRAMS]
BY_RUNNING = [defect for defect in defects.listed() if defect["target"] in PROGRAMS]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("defect", BY_INPUTS, ids=lambda defect: defect["name"])
def test_a_check_taken_away_is_noticed_by_the_committed_inputs(defect):
    program = defects.build(defect)
    outcome = running.run(program, defect["target"], seconds=0, hang_s=defect.get("hang_s", running.HANG_S))
    program.unlink()
    assert outcome.failure, f"{outcome} although {defect['name']}"
    assert "SUMMARY:" in outcome.failure, outcome.failure  # an input did it, not the run itself


@pytest.mark.timeout(600)
@pytest.mark.parametrize("defect", BY_RUNNING, ids=lambda defect: defect["name"])
def test_a_leak_or_a_wrong_answer_is_noticed_by_the_fault_injector_and_the_stepped_clock(defect):
    program = defects.build(defect)
    done = subprocess.run([program], capture_output=True, text=True, timeout=2 * WATCHDOG_S)
    program.unlink()
    assert done.returncode == 1, done.stdout
    assert ".c:" in done.stderr, done.stderr  # a check that names its place
