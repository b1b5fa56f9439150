# SPDX-License-Identifier: Apache-2.0
"""Take the code behind a promise away: the Python tests named beside it must fail. One item per planted defect.

A list (tests/prove/defects) comes with a function that runs tests while one of its defects is made: see LISTS."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from support import core_build, defects
from support.core_build import REPOSITORY

PATIENCE_S = 300  # a test that hangs has noticed, too
NOT_RUN = (2, 4, 5)  # of pytest's exit codes: interrupted while collecting, wrong usage, no tests
OPTIONS = ("-p", "no:cacheprovider", "-q", "-x", "--tb=no", "--timeout=60")


def core_environment(defect: str) -> dict[str, str]:
    """Imports the package built with the defects of the core."""
    return {**defects.chosen(defect), **core_build.package_environment("package_defects")}


LISTS: dict[str, Callable[[str], dict[str, str]]] = {"core": core_environment}


def noticed_by(tests: str, environment: dict[str, str]) -> str:
    """The first test that fails; empty if all pass."""
    settings = {**environment, "SLIPRING_STEP_TRIALS": "600"}
    command = [sys.executable, "-m", "pytest", *OPTIONS, *(f"tests/{test}" for test in tests.split())]
    try:
        done = subprocess.run(
            command, cwd=REPOSITORY, env=settings, capture_output=True, text=True, timeout=PATIENCE_S
        )
    except subprocess.TimeoutExpired:
        return "(hangs)"
    assert done.returncode not in NOT_RUN, f"{tests} did not run: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode and not failures:
        return f"(pytest ends with {done.returncode})"
    return failures[0].split(" - ")[0] if failures else ""


@pytest.mark.timeout(PATIENCE_S + 600)
@pytest.mark.parametrize(
    ("name", "check"),
    [pytest.param(name, check, id=str(check)) for name in LISTS for check in defects.checks(name, "tests")],
)
def test_the_tests_of_a_promise_notice_that_its_code_is_gone(name, check):
    noticed = noticed_by(check.value, LISTS[name](check.defect.name))
    assert noticed, f"{check.value} pass although: {check.defect.says}"
    print(noticed)


@pytest.mark.timeout(PATIENCE_S + 600)
@pytest.mark.parametrize("name", LISTS)
def test_the_tests_pass_as_long_as_no_defect_is_chosen(name):
    assert not noticed_by("conformance/test_accounting.py unit/test_lengths.py", LISTS[name](""))
