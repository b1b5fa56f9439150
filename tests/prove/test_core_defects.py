# SPDX-License-Identifier: Apache-2.0
"""C programs find every defect planted in the core (defects/core.toml).

The programs are crash states, schedules, two deaths in a row, fuzz targets, failing system calls and a stepped clock.
One build contains all defects; SLIPRING_DEFECT chooses one. Without it the same build passes. test_mutants.py has the
defects that Python tests must find.
"""

import re
import shlex
import subprocess

import pytest

from fuzz import running
from support import core_build, defects

WATCHDOG_S = 600
LIST = "core"
STATES_AGAIN = re.compile(
    r"^to see it again: every_crash_state_of_\w+_is_survived (.*step=.*)$", re.MULTILINE
)
SCHEDULE_AGAIN = re.compile(r"^replay: schedules (.+)$", re.MULTILINE)
SEARCH = ["--preemptions", "2", "--stale", "1", "--random", "20000"]


def run(program: str, *words: object, defect: str = "") -> subprocess.CompletedProcess[str]:
    command = [str(core_build.program("defects", program)), *map(str, words)]
    environment = defects.chosen(defect)
    return subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")


def by_states(check: defects.Check) -> None:
    """A death at some step shows the defect, and the printed line repeats it."""
    program, name = f"every_crash_state_of_{check.value}_is_survived", check.defect.name
    found = run(program, *check.options.get("arguments", []), defect=name)
    assert found.returncode == 1, f"not found: {found.stdout}{found.stderr}"
    step = STATES_AGAIN.search(found.stderr)
    assert step, found.stderr
    print(step[1])
    again = run(program, *shlex.split(step[1]), defect=name)
    assert again.returncode == 1, f"{step[1]} does not lead there: {again.stdout}{again.stderr}"


def by_schedule(check: defects.Check) -> None:
    """An order of steps shows the defect, and the printed line repeats the run."""
    deaths = ["--deaths", check.options["deaths"]] if "deaths" in check.options else []
    found = run("schedules", check.value, *deaths, *SEARCH, defect=check.defect.name)
    assert found.returncode == 1, f"not found: {found.stdout}{found.stderr}"
    assert "FAILED" in found.stdout, found.stdout
    print(found.stdout)
    words = SCHEDULE_AGAIN.search(found.stdout)[1].split()
    assert found.stdout.endswith(run("schedules", *words, defect=check.defect.name).stdout)


def by_two_deaths(check: defects.Check) -> None:
    found = run(check.value, defect=check.defect.name)
    assert found.returncode != 0, f"not found: {found.stdout}"
    assert "no second one died" not in found.stderr  # the failure is that of the defect
    print(found.stderr.strip().splitlines()[-3:])


def by_fuzz(check: defects.Check) -> None:
    """The committed inputs alone show the defect."""
    program = core_build.program("fuzz_defects", f"fuzz_{check.value}")
    hang_s = check.options.get("hang_s", running.HANG_S)
    outcome = running.run(program, check.value, seconds=0, hang_s=hang_s, defect=check.defect.name)
    assert outcome.failure, f"not found: {outcome}"
    assert "SUMMARY:" in outcome.failure, outcome.failure  # an input failed, not the run itself


def by_program(check: defects.Check) -> None:
    found = run(check.value, defect=check.defect.name)
    assert found.returncode == 1, f"not found: {found.stdout}{found.stderr}"
    assert ".c:" in found.stderr, found.stderr  # a check with its file and line


KINDS = {
    "states": by_states,
    "schedule": by_schedule,
    "two_deaths": by_two_deaths,
    "fuzz": by_fuzz,
    "program": by_program,
}


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize("check", defects.checks(LIST, *KINDS), ids=str)
def test_a_planted_defect_is_found(check, record_property):
    KINDS[check.kind](check)
    record_property(f"found by {check.kind}", 1)


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize(
    "words",
    [
        ("every_crash_state_of_cells_is_survived", "operation=put"),
        ("schedules", "lossy_one_copy", "--random", "1000"),
        ("two_ends_killed_at_any_points_disturb_nobody",),
        ("a_failed_system_call_is_named_and_leaves_nothing",),
        ("a_stepped_clock_changes_nothing",),
    ],
    ids=lambda words: words[0],
)
def test_a_build_with_defects_passes_as_long_as_none_is_chosen(words):
    done = run(*words)
    assert done.returncode == 0, f"{done.stdout[-4000:]}{done.stderr[-4000:]}"


@pytest.mark.timeout(WATCHDOG_S)
def test_a_fuzz_target_with_defects_passes_as_long_as_none_is_chosen():
    outcome = running.run(core_build.program("fuzz_defects", "fuzz_attach_topic"), "attach_topic", seconds=0)
    assert not outcome.failure, outcome.failure


def test_every_kind_of_check_is_run():
    assert defects.kinds(LIST) <= {*KINDS, "tests", "guard"}  # run by test_mutants.py and test_speed_guard.py
