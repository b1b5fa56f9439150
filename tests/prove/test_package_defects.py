# SPDX-License-Identifier: Apache-2.0
"""Every planted defect of the Python package (defects/package.toml) is noticed by the tests named there.

The defects are comments in the sources (support/planted.py). Each is planted in a copy of the package, for which
nothing is compiled. A test that fails or hangs has noticed it; a test that could not be collected has not.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from support import planted
from support.leaks import SHM

DEFECTS = tomllib.loads((Path(__file__).parent / "defects/package.toml").read_text())["defect"]
PATIENCE_S = 300  # for all tests of a defect
NOT_RUN = (2, 4, 5)  # of pytest's exit codes: interrupted while collecting, wrong usage, no tests
OPTIONS = ["-p", "no:cacheprovider", "-q", "-x", "--tb=no", "--timeout=60"]
SOUND = [
    "conformance/test_calls.py",
    "lake/test_commit.py",
    "spark/test_options.py",
    "stepped/test_stepping.py",
]


def first_failure(environment: dict[str, str], tests: str) -> str:
    """The first test that fails with the package of that environment; empty if all pass."""
    settings = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", *OPTIONS, *(f"tests/{test}" for test in tests.split())]
    run = subprocess.Popen(
        command,
        cwd=planted.REPOSITORY,
        env={**settings, "SLIPRING_STEP_TRIALS": "600", "SLIPRING_SHRINK": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = run.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        return "(hangs)"
    finally:
        clear(run)
    failures = [
        line.split(" - ")[0] for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))
    ]
    uncollected = any("::" not in failure for failure in failures)
    if run.returncode in NOT_RUN or uncollected:
        raise RuntimeError(f"{tests} did not run: {output[-2000:]}")
    if run.returncode and not failures:
        return f"(pytest ends with {run.returncode})"
    return failures[0] if failures else ""


def clear(run: subprocess.Popen[str]) -> None:
    """End what a defect left running, and remove its files."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    for root in SHM.glob(f"slipring-test-{run.pid}-*"):
        shutil.rmtree(root, ignore_errors=True)


@pytest.mark.timeout(2 * PATIENCE_S)
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect["name"])
def test_a_planted_defect_is_noticed(tmp_path, defect):
    noticed = first_failure(planted.package(tmp_path / "package", defect["name"]), defect["tests"])
    print(f"{defect['name']}: {noticed}")
    assert noticed, f"no test notices: {defect['says']}"


@pytest.mark.timeout(2 * PATIENCE_S)
@pytest.mark.parametrize("tests", SOUND)
def test_tests_pass_on_a_copy_without_a_defect(tmp_path, tests):
    assert first_failure(planted.package(tmp_path / "package"), tests) == ""


def test_a_package_that_cannot_be_imported_does_not_count_as_noticed(tmp_path):
    environment = planted.package(tmp_path / "package")
    (tmp_path / "package/slipring/errors.py").write_text("if\n")
    with pytest.raises(RuntimeError, match="did not run"):
        first_failure(environment, "conformance/test_lengths.py")


def test_a_module_that_one_test_file_imports_does_not_count_as_noticed(tmp_path):
    environment = planted.package(tmp_path / "package")
    (tmp_path / "package/slipring/pipelines/lake/verify.py").write_text("if\n")
    with pytest.raises(RuntimeError, match="did not run"):
        first_failure(environment, "lake/test_verify.py")
