# SPDX-License-Identifier: Apache-2.0
"""Real, unrelated Python processes for tests, spoken to line by line.

    def test_…(processes):
        child = processes.start('''
            sub = bus.subscriber("t", start="oldest")
            say("ready")
            say([m.body for m in sub.recv_many(limit, timeout=None)])
        ''', limit=3)                      # variables become globals of the script; see support/child.py
        child.expect("ready")
        ...
        assert child.hear() == [b"a", b"b", b"c"]
        child.join()                       # waits for its end, asserts exit code 0

processes.start(script, *, env=None, python=None, bus_name="test", **variables) -> Process
    env is added to the environment (e.g. a crash point); python another interpreter; bus_name=None: no bus.
Process
    .say(value, …)        one line to the child (its ``hear()``); one value as itself, several as a tuple
    .hear()               its next line (its ``say(…)``); fails with its stderr when it ended instead
    .expect(value)        hear() and compare
    .kill()               SIGKILL, and reap it
    .stop() / .resume()   SIGSTOP, returning when it has stopped / SIGCONT
    .signal(sig)          any other signal
    .wait_until_asleep()  until its main thread sleeps in the kernel
    .join(code=0)         wait for its end; assert its exit code (None: any; negative: the signal); returns it
    .pid .alive .cpu_seconds .stderr
"""

import ast
import os
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from support import waiting

CHILD = Path(__file__).with_name("child.py")


class Process:
    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by discard)
        self._popen = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, bufsize=0
        )
        self._unread = b""
        self.pid = self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    @property
    def cpu_seconds(self) -> float:
        return waiting.cpu_seconds(self.pid)

    @property
    def stderr(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def say(self, *values) -> None:
        self._popen.stdin.write(repr(values[0] if len(values) == 1 else values).encode() + b"\n")

    def hear(self, timeout: float = waiting.WATCHDOG_S):
        deadline = time.monotonic() + timeout
        while b"\n" not in self._unread:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._popen.stdout], [], [], left)[0]:
                raise AssertionError(f"process {self.pid} said nothing for {timeout} s\n{self.stderr}")
            chunk = os.read(self._popen.stdout.fileno(), 1 << 16)
            if not chunk:
                code = self._popen.wait(waiting.WATCHDOG_S)
                raise AssertionError(
                    f"process {self.pid} ended with {code} instead of speaking\n{self.stderr}"
                )
            self._unread += chunk
        line, self._unread = self._unread.split(b"\n", 1)
        return ast.literal_eval(line.decode())

    def heard_before_its_end(self) -> list:
        """What a process that is dead has said and nobody has heard; a line cut off by a kill is dropped."""
        said = self._unread + self._popen.stdout.read()
        self._unread = b""
        return [ast.literal_eval(line.decode()) for line in said.split(b"\n")[:-1]]

    def expect(self, value) -> None:
        heard = self.hear()
        assert heard == value, f"process {self.pid} said {heard!r}, not {value!r}\n{self.stderr}"

    def signal(self, sig: int) -> None:
        self._popen.send_signal(sig)

    def kill(self) -> None:
        self._popen.kill()
        self._popen.wait(waiting.WATCHDOG_S)

    def stop(self) -> None:
        self.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def wait_until_asleep(self) -> None:
        waiting.wait_until_asleep(self.pid)

    def join(self, code: int | None = 0) -> int:
        try:
            found = self._popen.wait(waiting.WATCHDOG_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"process {self.pid} did not end\n{self.stderr}") from None
        assert code is None or found == code, (
            f"process {self.pid} ended with {found}, not {code}\n{self.stderr}"
        )
        return found

    def discard(self) -> None:
        """Kill it if it lives and close its pipes; the fixture calls it for every process."""
        self.kill()
        for pipe in (self._popen.stdin, self._popen.stdout, self._errors):
            pipe.close()


class Processes:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._started: list[Process] = []

    def start(
        self, script: str, *, env=None, python: str | None = None, bus_name="test", **variables
    ) -> Process:
        variables = {"root": str(self._root), "bus_name": bus_name, **variables}
        command = [python or sys.executable, "-P", str(CHILD), textwrap.dedent(script), repr(variables)]
        process = Process(command, {**os.environ, **(env or {})})
        self._started.append(process)
        return process

    def discard(self) -> None:
        for process in self._started:
            process.discard()
