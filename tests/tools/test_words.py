# SPDX-License-Identifier: Apache-2.0
"""`tools/check-words.py` finds the words that the project does not use, where they are prose, and only there."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools/check-words.py"


@pytest.fixture
def check(tmp_path):
    """Return the report on one file of a repository of its own."""

    def run(path: str, source: str) -> list[str]:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
        subprocess.run(["git", "add", path], cwd=tmp_path, check=True)
        command = [sys.executable, str(SCRIPT), path]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == (1 if done.stdout else 0), done.stderr
        return [line.split(": ")[0] + " " + line.split("'")[1] for line in done.stdout.splitlines()]

    return run


@pytest.mark.parametrize(
    ("path", "source", "found"),
    [
        ("a.md", "One line.\nIt waits for\never.\n", ["a.md:2 for ever"]),
        ("a.py", "# Whoever comes.\n", ["a.py:1 Whoever"]),
        ("a.py", 'def f():\n    """It is told."""\n', ["a.py:2 is told"]),
        ("a.py", 'raise ValueError(f"{x} is no number")\n', ["a.py:1 is no number"]),
        ("tests/test_a.py", "def test_it_begins_anew():\n    pass\n", ["tests/test_a.py:1 anew"]),
        ("core/a.c", "int a; /* One.\n   In vain. */\n", ["core/a.c:2 In vain"]),
        ("core/a.c", 'puts("it tells you");\n', ["core/a.c:1 tells"]),
        ("a.sh", "true # the desk\n", ["a.sh:1 desk"]),
    ],
)
def test_a_word_is_found_where_it_is_prose(check, path, source, found):
    assert check(path, source) == found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.md", "See `desk.py` and [more](desk.md).\n```\nwhoever\n```\n"),
        ("a.py", "def desk(whoever):\n    return 'anew'\n"),
        ("tests/test_a.py", "assert text == 'x is no number'\n"),
        ("core/a.c", "int desk = seat;\n"),
        ("a.md", "There is no message, and it will be no longer valid.\n"),
    ],
)
def test_code_and_ordinary_words_are_not_found(check, path, source):
    assert check(path, source) == []
