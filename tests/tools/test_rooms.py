# SPDX-License-Identifier: Apache-2.0
"""`tools/check-rooms.py` finds large folders, folders without a contract, and names of modules with two meanings."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools/check-rooms.py"
CONTRACT = '"""What it does.\n\nWhat it guarantees."""\n'


@pytest.fixture
def check(tmp_path):
    """Return the report on a repository of these files."""

    def run(files: dict[str, str]) -> list[str]:
        for path, source in files.items():
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source)
        for command in (["git", "init", "-q"], ["git", "add", "."]):
            subprocess.run(command, cwd=tmp_path, check=True)
        command = [sys.executable, str(SCRIPT)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == (1 if done.stdout else 0), done.stderr
        return done.stdout.splitlines()

    return run


def many(folder: str, count: int) -> dict[str, str]:
    return {f"{folder}/test_{number}.py": "" for number in range(count)}


@pytest.mark.parametrize("folder", ["core/tests/faults", "demo", "docs", "tests/unit", "tools"])
def test_a_folder_with_21_files_is_reported(check, folder):
    (found,) = check(many(folder, 21))
    assert found.startswith(f"{folder}: 21 files;")


def test_20_files_are_allowed_and_some_do_not_count(check):
    free = ("__init__.py", "conftest.py", "meson.build", "README.md")
    assert check(many("tests/unit", 20) | {f"tests/unit/{name}": "" for name in free}) == []
    assert check(many("tests/fuzz/corpus/ring", 21) | many("benchmarks/results", 21)) == []


@pytest.mark.parametrize(
    ("files", "silent"),
    [
        ({"src/slipring/a/x.py": ""}, ["src/slipring/a"]),
        ({"src/slipring/a/x.py": "", "src/slipring/a/__init__.py": '"""One line."""\n'}, ["src/slipring/a"]),
        ({"src/slipring/a/x.c": "", "src/slipring/a/README": "One line.\n"}, ["src/slipring/a"]),
        ({"src/slipring/a/x.py": "", "src/slipring/a/__init__.py": CONTRACT}, []),
        ({"src/slipring/a/x.c": "", "src/slipring/a/README": "One.\nTwo.\n"}, []),
        ({"core/src/ring/claim.c": ""}, ["core/src/ring"]),
        ({"core/src/ring/claim.c": "", "core/src/ring/README": "One.\nTwo.\n"}, []),
    ],
)
def test_a_folder_without_a_contract_is_reported(check, files, silent):
    assert [line.partition(": no contract")[0] for line in check(files)] == silent


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a/places.py", "b/places.py"], ["places.py"]),
        (["a/publisher.py", "b/publisher.py"], []),
        (["a/doctor.py", "cli/verbs/doctor.py"], []),
        (["a/reader.py", "testing/ring/reader.py"], []),
        (["a/places.py", "b/places.py", "testing/places.py"], ["places.py"]),
    ],
)
def test_a_name_with_two_meanings_is_reported(check, paths, names):
    files = {f"src/slipring/{path}": "" for path in paths}
    contracts = {str(Path(path).parent / "__init__.py"): CONTRACT for path in files}
    assert [line.partition(":")[0] for line in check(files | contracts)] == names
