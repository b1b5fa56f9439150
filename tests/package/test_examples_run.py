# SPDX-License-Identifier: Apache-2.0
"""The examples and the guides do what they say.

Examples: the `sh` block of each README is run in its directory; what it prints is the `text` block.
Documents: the `python` blocks of each are one program; a `text` block right after one is what it prints. In a
`console` block, lines that begin with `$ ` are commands, the others what they print.
README: a `python` block that begins with a file name is that file; the `console` blocks name files and show the first
lines they print, with other numbers.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support import spark

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.parent.name for path in (REPOSITORY / "examples").glob("*/README.md"))
DOCUMENTS = ["docs/start.md", "docs/concepts.md", *sorted(
    str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "docs/guides").glob("*.md")
)]  # fmt: skip
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STARTS_SPARK = re.compile(r"spark|slipring\.pipelines|slipring .*(record|replay|report)", re.IGNORECASE)
WATCHDOG_S = 300
pytestmark = pytest.mark.timeout(WATCHDOG_S + 30)  # those with Spark start a JVM


@pytest.fixture
def environment(bus_root):
    tools = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "SLIPRING_ROOT": str(bus_root)}


def blocks(document: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(document.read_text())


def run(command: list[str], directory: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        command,
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def java_settings(text: str) -> dict[str, str]:
    """What runs Spark gets a JVM that starts fast; the text is the example's or the document's."""
    return spark.quick_environment() if STARTS_SPARK.search(text) else {}


def left_behind(root: str) -> list[str]:
    """But what a stream keeps to know, when it is started again, which batches it has published."""
    files = [path for path in Path(root).rglob("*") if not path.is_dir()]
    return [str(path) for path in files if not path.relative_to(root).parts[0].startswith(".outbox-")]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_prints_what_its_readme_shows(example, environment, tmp_path):
    directory = tmp_path / example
    shutil.copytree(REPOSITORY / "examples" / example, directory)
    found = dict(blocks(directory / "README.md"))
    texts = [path.read_text() for path in directory.rglob("*") if path.suffix in (".md", ".py")]
    environment |= java_settings("".join(texts))
    assert run(["sh", "-eu", "-c", found["sh"]], directory, environment) == found["text"]
    assert left_behind(environment["SLIPRING_ROOT"]) == []


def test_every_example_is_in_the_list():
    listed = re.findall(r"^\| \[([\w-]+)\]", (REPOSITORY / "examples/README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == EXAMPLES


def program(document: Path) -> tuple[str, str]:
    """The document's Python blocks as one program, and what it has to print."""
    code, expected = [], []
    for kind, text in blocks(document):
        if kind == "python":
            code.append(text)
        elif kind == "text" and code:
            code.append(f"print('--- {len(expected)}')\n")
            expected.append(f"{text}--- {len(expected)}\n")
    return "\n".join(code), "".join(expected)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_python_of_a_document_prints_what_it_shows(document, environment, tmp_path):
    code, expected = program(REPOSITORY / document)
    environment |= java_settings(code)
    assert run([sys.executable, "-c", code], tmp_path, environment) == expected


def commands(console: str) -> list[tuple[str, str]]:
    """Pairs of a command and what it prints."""
    parts = re.split(r"^\$ (.*)\n", console, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_commands_of_a_document_print_what_it_shows(document, environment, tmp_path):
    consoles = [text for kind, text in blocks(REPOSITORY / document) if kind == "console"]
    environment |= java_settings("".join(consoles))
    for text in consoles:
        for command, expected in commands(text):
            assert run(["sh", "-eu", "-c", command], tmp_path, environment) == expected, command


README = REPOSITORY / "README.md"
NAMED = re.compile(r"# (\w+\.py)\n")


def masked(line: str) -> str:
    """The line with one digit for each number."""
    return re.sub(r"\d+", "0", line)


def shown_by(command: str) -> list[str]:
    """The lines that the README shows below a command."""
    found = [
        shown
        for kind, text in blocks(README)
        if kind == "console"
        for given, shown in commands(text)
        if given == command
    ]
    assert len(found) == 1, command
    return found[0].splitlines()


@contextmanager
def running(
    command: list[str], directory: Path, environment: dict[str, str]
) -> Iterator[subprocess.Popen[str]]:
    """A program that does not end by itself, with its JVM if it starts one."""
    process = subprocess.Popen(
        command, cwd=directory, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def programs(tmp_path):
    """The directory with the files of the README."""
    for kind, text in blocks(README):
        if kind == "python":
            (tmp_path / NAMED.match(text)[1]).write_text(text)
    return tmp_path


def test_the_readmes_subscriber_prints_what_its_publisher_sends(programs, environment):
    expected = shown_by("python subscriber.py")
    with ExitStack() as stack:
        start = [
            stack.enter_context(running([sys.executable, name], programs, environment))
            for name in ("publisher.py", "subscriber.py")
        ]
        lines = [start[1].stdout.readline().rstrip("\n") for _ in expected]
    assert [masked(line) for line in lines] == [masked(line) for line in expected]


def test_the_command_line_shows_the_fields_that_the_readmes_publisher_declares(programs, environment):
    expected = shown_by("slipring --bus robot sub imu")
    with ExitStack() as stack:
        for command in ([sys.executable, "publisher.py"], ["slipring", "--bus", "robot", "sub", "imu"]):
            reader = stack.enter_context(running(command, programs, environment))
        lines = [reader.stdout.readline().rstrip("\n") for _ in expected]
    assert [masked(line) for line in lines] == [masked(line) for line in expected]


@pytest.mark.timeout(3 * WATCHDOG_S)
def test_the_readmes_stream_publishes_what_it_shows(programs, environment):
    environment |= spark.quick_environment()
    expected = shown_by("slipring --bus robot sub rates")
    with ExitStack() as stack:
        for name in ("publisher.py", "rates.py"):
            stack.enter_context(running([sys.executable, name], programs, environment))
        tail = ["slipring", "--bus", "robot", "sub", "rates", "--start", "oldest"]
        reader = stack.enter_context(running(tail, programs, environment))
        lines = [reader.stdout.readline().rstrip("\n") for _ in expected]
    assert [masked(line) for line in lines] == [masked(line) for line in expected]
