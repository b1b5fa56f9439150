# SPDX-License-Identifier: Apache-2.0
"""`tools/check-citations.py` finds comments and documents that name a file, function or module that is not there."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools/check-citations.py"
FILES = {
    "core/src/ring/hold.c": "int slr_view(void) { return 0; }\n",
    "core/src/frames/hold.c": "int slr_view(void) { return 0; }\n",
    "core/src/frames/pool.c": "int pool;\n",
    "src/slipring/__init__.py": "\n",
    "src/slipring/_bus/bus.py": "class Bus:\n    pass\n",
    "tests/test_a.py": "def test_b():\n    pass\n",
}


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """Return the report on one file of a repository of its own."""
    repository = tmp_path_factory.mktemp("repository")

    def write(path: str, source: str) -> None:
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text(source)
        subprocess.run(["git", "add", path], cwd=repository, check=True)

    def run(path: str, source: str) -> str:
        write(path, source)
        command = [sys.executable, str(SCRIPT), path]
        done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
        assert done.returncode == (1 if done.stdout else 0), done.stderr
        return done.stdout.strip()

    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    for path, source in FILES.items():
        write(path, source)
    return run


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        ("core/src/ring/a.c", "/* See gone.c. */\n", "there is no file gone.c"),
        (
            "core/src/ring/a.c",
            "/* Partner: the fence in peek (hold.c). */\n",
            "core/src/ring/hold.c has no peek",
        ),
        (
            "core/src/ring/a.c",
            "/* Partner: the\n * fence in peek\n * (hold.c). */\n",
            "core/src/ring/hold.c has no peek",
        ),
        ("core/src/ring/a.c", "/* hold.c:peek */\n", "core/src/ring/hold.c has no peek"),
        ("core/src/ring/a.c", "/* As in a.c. */\n", "a.c is this file"),
        (
            "core/src/wait/a.c",
            "/* hold.c */\n",
            "hold.c may be core/src/frames/hold.c or core/src/ring/hold.c",
        ),
        ("src/slipring/a.py", '"""See ``_bus/gone.py``."""\n', "there is no file _bus/gone.py"),
        ("src/slipring/a.py", "# See slipring._bus.gone\n", "there is no slipring._bus.gone"),
        ("docs/a.md", "Shown by `tests/test_a.py::test_c`.\n", "tests/test_a.py has no test_c"),
        ("docs/guides/a.md", "Shown by `tests/gone.py`.\n", "there is no file tests/gone.py"),
    ],
)
def test_a_citation_that_leads_nowhere_is_found(check, path, source, complaint):
    assert complaint in check(path, source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/src/ring/a.c", "/* Partner: the fence in view (hold.c). See frames/hold.c, pool.c. */\n"),
        ("src/slipring/a.py", '"""See ``_bus/bus.py`` and slipring._bus.bus.Bus."""\n'),
        ("docs/a.md", "Shown by `test_a.py::test_b`, made in `ring/hold.c:view`.\n"),
        ("docs/guides/a.md", "Save as `subscriber.py`.\n"),
    ],
)
def test_a_citation_that_leads_somewhere_is_not_reported(check, path, source):
    assert check(path, source) == ""
