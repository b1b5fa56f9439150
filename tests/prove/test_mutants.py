# SPDX-License-Identifier: Apache-2.0
"""The Python tests listed for a planted defect fail with it. There is one test for each defect.

One build contains all defects of the core and the binding. Defects of the Python package are planted in a copy of it
(support/planted.py), for which nothing is compiled. A test that fails or hangs has found the defect; a test that could
not be collected has not.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from support import core_build, defects, planted
from support.leaks import SHM

PATIENCE_S = 200  # for all tests of a defect
NOT_RUN = (2, 4, 5)  # of pytest's exit codes: interrupted while collecting, wrong usage, no tests
OPTIONS = ("-p", "no:cacheprovider", "-q", "-x", "--tb=no", "--timeout=60")
MARK = "SLIPRING_TEST_RUN"  # in the environment of every process of a run
SETTINGS = {"SLIPRING_STEP_TRIALS": "600", "SLIPRING_SHRINK": "0"}


def core_environment(defect: str, place: Path) -> dict[str, str]:
    return {**defects.chosen(defect), **core_build.package_environment("package_defects")}


def package_environment(defect: str, place: Path) -> dict[str, str]:
    return planted.package(place, defect or None)


LISTS = {"core": core_environment, "package": package_environment}


def first_failure(environment: dict[str, str], tests: str, patience: str = "1") -> str:
    """Return the first test that fails with the package of that environment, or an empty text."""
    own = {**SETTINGS, "SLIPRING_TEST_PATIENCE": patience}
    settings = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", *OPTIONS, *(f"tests/{test}" for test in tests.split())]
    mark = str(uuid.uuid4())
    run = subprocess.Popen(
        command,
        cwd=core_build.REPOSITORY,
        env={**settings, **own, MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        output, _ = run.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        return "(hangs)"
    finally:
        clear(run, mark)
    lines = output.splitlines()
    failures = [line.split(" - ")[0] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    uncollected = any("::" not in failure for failure in failures)
    if run.returncode in NOT_RUN or uncollected:
        raise RuntimeError(f"{tests} did not run: {output[-2000:]}")
    if run.returncode and not failures:
        return f"(pytest ends with {run.returncode})"
    return failures[0] if failures else ""


def clear(run: subprocess.Popen[str], mark: str) -> None:
    """End all processes that a defect left running, and remove its files."""
    run.kill()
    while left := marked(mark):  # the next round finds processes started meanwhile
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    run.communicate()
    for root in SHM.glob(f"slipring-test-{run.pid}-*"):
        shutil.rmtree(root, ignore_errors=True)


def marked(mark: str) -> list[int]:
    """Return the processes with the mark in their environment. An ended process has no environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "check"),
    [pytest.param(name, check, id=str(check)) for name in LISTS for check in defects.checks(name, "tests")],
)
def test_the_tests_of_a_promise_notice_a_planted_defect(tmp_path, record_property, name, check):
    environment = LISTS[name](check.defect.name, tmp_path / "package")
    noticed = first_failure(environment, check.value)
    print(f"{check.defect.name}: {noticed}")
    assert noticed, f"no test notices: {check.defect.description}"
    record_property(f"mutants of the {name}", 1)


def named_files(name: str) -> list[str]:
    return sorted({file for check in defects.checks(name, "tests") for file in check.value.split()})


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "file"), [(name, file) for name in LISTS for file in named_files(name)])
def test_the_named_tests_pass_as_long_as_no_defect_is_chosen(tmp_path, name, file):
    """Otherwise they would fail with any defect."""
    assert first_failure(LISTS[name]("", tmp_path / "package"), file, patience="3") == ""


@pytest.mark.parametrize(
    ("module", "tests"),
    [
        ("errors.py", "conformance/messages/test_lengths.py"),
        ("pipelines/lake/verify.py", "lake/test_verify.py"),
    ],
)
def test_a_module_that_cannot_be_imported_does_not_count_as_noticed(tmp_path, module, tests):
    environment = planted.package(tmp_path / "package")
    (tmp_path / "package/slipring" / module).write_text("if\n")
    with pytest.raises(RuntimeError, match="did not run"):
        first_failure(environment, tests)
