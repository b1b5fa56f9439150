# SPDX-License-Identifier: Apache-2.0
"""The core runs one step at a time, in every order within bounds and with every value that C11 lets a load return.

No message is torn, lost, repeated or reordered; no held byte changes; no wake-up is lost (core/tests/schedules,
docs/reliability/schedules.md). test_core_defects.py shows that planted mistakes in memory orders and protocol are
found.
"""

import os
import re
import subprocess
import time

import pytest

from support import core_build
from support.core_build import REPOSITORY

RANDOM_RUNS = 4000
WATCHDOG_S = 600
SECONDS = float(os.environ.get("SLIPRING_SCHEDULES_SECONDS", "0"))
LISTED = re.findall(r"X\((\w+)\)", (REPOSITORY / "core/tests/schedules/scenarios/scenarios.c").read_text())
SCENARIOS = [name for name in LISTED if not name.startswith("litmus_")]
LITMUS = {  # number of outcomes that C11 allows, without load buffering, which does not occur in them
    "litmus_dekker_relaxed": 4,
    "litmus_dekker_fences": 3,
    "litmus_dekker_weak_fences": 4,
    "litmus_dekker_seq_cst": 3,
    "litmus_message_by_nothing": 4,
    "litmus_message_by_orders": 3,
    "litmus_message_by_fences": 3,
    "litmus_message_without_release": 4,
    "litmus_message_without_acquire": 4,
    "litmus_coherence": 3,
    "litmus_observers_acquiring": 16,
    "litmus_observers_agreeing": 15,
}


@pytest.fixture(scope="module")
def program():
    return core_build.program("shipped", "schedules")


def kept(program, scenario, *words):
    command = [str(program), scenario, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_order_of_steps_breaks_a_promise(program, scenario, record_property):
    report = kept(program, scenario, "--random", RANDOM_RUNS)
    assert ", complete" in report
    assert "NOT COMPLETE" not in report
    for count, kind in re.findall(r"(\d+) (schedules|decisions)", report):
        record_property(kind, int(count))


@pytest.mark.parametrize("litmus", LITMUS)
def test_memory_shows_exactly_the_outcomes_that_c11_allows(program, litmus):
    report = kept(program, litmus)
    assert int(re.search(r"(\d+) outcomes so far.* complete", report)[1]) == LITMUS[litmus]


if SECONDS:  # make schedules

    @pytest.mark.timeout(0)
    @pytest.mark.parametrize("scenario", SCENARIOS)
    def test_no_order_of_steps_found_in_longer_searches_breaks_a_promise(program, scenario):
        share = SECONDS / len(SCENARIOS) / 3
        for bounds in ("--preemptions 3 --stale 1", "--preemptions 2 --stale 1 --deaths 1"):
            kept(program, scenario, *bounds.split(), "--seconds", share)
        kept(
            program,
            scenario,
            "--preemptions",
            0,
            "--random",
            10**12,
            "--seed",
            int(time.time()),
            "--seconds",
            share,
        )
