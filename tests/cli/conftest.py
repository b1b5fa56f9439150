# SPDX-License-Identifier: Apache-2.0
"""``slipring``: the real command, in real processes, on the test's bus.

cli.run("pub", "t", "hello", stdin=b"", code=0) -> Outcome(stdout, stderr, code)   asserts the exit code
cli.start("sub", "t")                           -> Popen, with pipes; killed after the test when it still runs
cli.records("ls", "--format", "json")           -> the JSON values it printed, one for each line
"""

import json
import os
import subprocess
import sys
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


@pytest.fixture
def reads(bus):
    """Waits until a process is a reader of a topic, so that what is published from now on reaches it."""

    def wait(process, topic: str) -> None:
        def found() -> bool:
            assert process.poll() is None, "the reader ended"
            return any(reader["pid"] == process.pid for reader in bus.stats(topic)["readers"])

        eventually(found, f"process {process.pid} reading {topic}")

    return wait
