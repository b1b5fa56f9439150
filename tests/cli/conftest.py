# SPDX-License-Identifier: Apache-2.0
"""``slipring``: the real command, in real processes, on the test's bus.

cli.run("pub", "t", "hello", stdin=b"", code=0) -> Outcome(stdout, stderr, code)   asserts the exit code
cli.start("sub", "t")                           -> Popen, with pipes; killed after the test when it still runs
cli.records("ls", "--format", "json")           -> the JSON values it printed, one for each line

``terminal``: the same on a pseudo-terminal of its own.

terminal.run("ls", code=0, env=None)            -> all that it showed, with "\n" for a line's end
terminal.start("top", rows=24, columns=80)      -> Popen
terminal.until(b"text"), .press(b"q"), .ended(process), .shown
"""

import json
import os
import pty
import select
import subprocess
import sys
import termios
from pathlib import Path
from typing import NamedTuple

import pytest

from support.waiting import WATCHDOG_S, eventually


class Outcome(NamedTuple):
    stdout: bytes
    stderr: str
    code: int


class Cli:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._started: list[subprocess.Popen] = []

    def argv(self, *args) -> list:
        return [sys.executable, "-P", "-m", "slipring.cli", "--bus", "test", "--root", str(self.root), *args]

    def start(self, *args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=None):
        env = {**os.environ, "PYTHONWARNINGS": "error", **(env or {})}
        process = subprocess.Popen(self.argv(*args), stdin=stdin, stdout=stdout, stderr=stderr, env=env)
        self._started.append(process)
        return process

    def finish(self, process, stdin: bytes | None = None) -> Outcome:
        stdout, stderr = process.communicate(stdin, timeout=WATCHDOG_S)
        return Outcome(stdout or b"", (stderr or b"").decode(), process.returncode)

    def run(self, *args, stdin: bytes = b"", code: int = 0) -> Outcome:
        outcome = self.finish(self.start(*args), stdin)
        assert outcome.code == code, outcome
        assert "Traceback" not in outcome.stderr, outcome.stderr
        return outcome

    def records(self, *args, code: int = 0) -> list:
        return [json.loads(line) for line in self.run(*args, code=code).stdout.split(b"\n") if line]

    def discard(self) -> None:
        for process in self._started:
            process.kill()
            process.wait(WATCHDOG_S)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


@pytest.fixture
def cli(bus_root):
    cli = Cli(bus_root)
    yield cli
    cli.discard()


class Terminal:
    """Both ends of a pseudo-terminal: a command at one, the test at the other."""

    def __init__(self, cli: Cli) -> None:
        self._cli = cli
        self._outer, self._inner = pty.openpty()
        settings = termios.tcgetattr(self._inner)
        settings[1] &= ~termios.OPOST  # bytes arrive as they are written
        termios.tcsetattr(self._inner, termios.TCSANOW, settings)
        self.shown = b""

    def start(self, *args, rows: int = 24, columns: int = 80, env=None):
        termios.tcsetwinsize(self._inner, (rows, columns))
        ends = {"stdin": self._inner, "stdout": self._inner, "stderr": self._inner}
        return self._cli.start(*args, **ends, env={"TERM": "xterm", **(env or {})})

    def run(self, *args, code: int = 0, env=None) -> bytes:
        before = len(self.shown)
        assert self.ended(self.start(*args, env=env)) == code, self.shown
        return self.shown[before:]

    def ended(self, process) -> int:
        """Read all that a process shows until its end; return its exit code."""

        def has_ended() -> bool:
            ended = process.poll() is not None
            return not self._read() and ended

        eventually(has_ended, "the command's end")
        return process.returncode

    def _read(self) -> bool:
        """Whether there was more to see."""
        if not select.select([self._outer], [], [], 0.01)[0]:
            return False
        self.shown += os.read(self._outer, 1 << 16)
        return True

    def until(self, text: bytes, since: int = 0) -> None:
        """Read until ``text`` is shown after the first ``since`` bytes."""
        eventually(
            lambda: text in self.shown[since:] or (self._read() and False), f"{text!r} on the terminal"
        )

    def press(self, keys: bytes) -> int:
        """Type ``keys``; return how much was shown before."""
        seen = len(self.shown)
        os.write(self._outer, keys)
        return seen

    def is_cooked(self) -> bool:
        """Whether lines are edited and shown, as a shell leaves it."""
        wanted = termios.ICANON | termios.ECHO
        return termios.tcgetattr(self._inner)[3] & wanted == wanted

    def close(self) -> None:
        os.close(self._outer)
        os.close(self._inner)


@pytest.fixture
def terminal(cli):
    terminal = Terminal(cli)
    yield terminal
    cli.discard()  # before its terminal goes
    terminal.close()


@pytest.fixture
def reads(bus):
    """Waits until a process is a reader of a topic, so that what is published from now on reaches it."""

    def wait(process, topic: str) -> None:
        def found() -> bool:
            assert process.poll() is None, "the reader ended"
            return any(reader["pid"] == process.pid for reader in bus.stats(topic)["readers"])

        eventually(found, f"process {process.pid} reading {topic}")

    return wait
