# SPDX-License-Identifier: Apache-2.0
"""The crash states (core/tests/states) find the mistakes planted in a copy of the core, each with the step at which a
death brings it to light, and a way to see it again that leads there. That they find none in the core itself is part
of test_core_suite.py."""

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DEFECTS = tomllib.loads((Path(__file__).parent / "crash_state_defects.toml").read_text())["defect"]
AGAIN = re.compile(r"^to see it again: every_crash_state_of_\w+_is_survived (.*step=.*)$", re.MULTILINE)
WATCHDOG_S = 600


def run(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{REPOSITORY}/.venv/bin:{os.environ['PATH']}"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=check)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the core, and a place to build it in."""
    place = tmp_path_factory.mktemp("states")
    shutil.copytree(REPOSITORY / "core", place / "core")
    (place / "src/slipring").mkdir(parents=True)
    for name in ("meson.build", "meson.options", "src/slipring/meson.build"):
        shutil.copy2(REPOSITORY / name, place / name)
    run("meson", "setup", str(place / "build"), str(place), "-Dcore_only=true", "-Doptimization=0")
    return place


def plant(tree: Path, changes: list[list[str]]) -> dict[Path, str]:
    originals: dict[Path, str] = {}
    for name, before, after in changes:
        path = tree / "core/src" / name
        text = path.read_text()
        originals.setdefault(path, text)
        assert text.count(before) == 1, f"{name} has no {before!r} any more"
        path.write_text(text.replace(before, after))
    return originals


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect["name"])
def test_a_planted_mistake_is_found_with_its_step(tree, defect):
    program = f"core/tests/every_crash_state_of_{defect['subject']}_is_survived"
    originals = plant(tree, defect["changes"])
    try:
        run("ninja", "-C", str(tree / "build"), program)
    finally:
        for path, text in originals.items():
            path.write_text(text)
    found = run(str(tree / "build" / program), *defect["arguments"], check=False)
    assert found.returncode == 1, found.stdout
    place = AGAIN.search(found.stderr)
    assert place, found.stderr
    print(f"{defect['name']}: {place[1]}")
    again = run(str(tree / "build" / program), *shlex.split(place[1]), check=False)
    assert again.returncode == 1, f"{place[1]} does not lead there: {again.stdout}{again.stderr}"
