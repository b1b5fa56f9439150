# SPDX-License-Identifier: Apache-2.0
"""A nursery: one small process that has imported what its children need, and forks one on request.

    with Fleet(preload=["crash.actors"]) as fleet:
        child = fleet.start("crash.actors:publisher", root=…, topic=…)
        child.kill()              # SIGKILL and reap
A child is forked from a process that never opened a bus, so it inherits nothing; a fresh one costs
milliseconds, not an interpreter's start. The nursery reaps only what it is told to: a pid stays valid until
then.
"""

import contextlib
import ctypes
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from support.waiting import WATCHDOG_S

TESTS = Path(__file__).resolve().parents[1]
PR_SET_PDEATHSIG = 1


class Child:
    def __init__(self, fleet: "Fleet", pid: int, name: str) -> None:
        self._fleet, self.pid, self.name = fleet, pid, name
        self._pidfd = os.pidfd_open(pid)
        self.code: int | None = None

    @property
    def alive(self) -> bool:
        return self.code is None and not self._ended(0)

    def _ended(self, timeout_s: float) -> bool:
        return bool(select.select([self._pidfd], [], [], timeout_s)[0])

    def signal(self, sig: int) -> None:
        os.kill(self.pid, sig)

    def stop(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def kill(self) -> int:
        if self.code is None:
            self.signal(signal.SIGKILL)
        return self.join()

    def join(self) -> int:
        """Its exit code, negative for the signal it died of."""
        if self.code is None:
            if not self._ended(WATCHDOG_S):
                raise AssertionError(f"{self.name} did not end\n{backtrace(self.pid)}")
            self.code = self._fleet.ask(reap=self.pid)
            self._fleet.children.remove(self)
            os.close(self._pidfd)
        return self.code


class Fleet:
    """``errors()`` is what its children wrote to stderr: their tracebacks."""

    def __init__(self, preload: list[str]) -> None:
        self.children: list[Child] = []
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close)
        command = [sys.executable, "-P", __file__, str(theirs.fileno()), *preload]
        environment = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}"}
        self._nursery = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stderr=self._stderr, env=environment
        )
        theirs.close()
        self._socket.settimeout(WATCHDOG_S)

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def start(self, target: str, **config) -> Child:
        child = Child(self, self.ask(start=target, config=config), f"{target} {config.get('name', '')}")
        self.children.append(child)
        return child

    def ask(self, **request):
        self._socket.send(json.dumps(request).encode())
        answer = self._socket.recv(1 << 16)
        assert answer, f"the nursery ended\n{self.errors()}"
        return json.loads(answer)

    @property
    def pid(self) -> int:
        return self._nursery.pid

    def errors(self) -> str:
        return os.pread(self._stderr.fileno(), 1 << 20, 0).decode(errors="replace")

    def close(self) -> None:
        for child in list(self.children):
            child.kill()
        self._socket.close()
        self._nursery.wait(WATCHDOG_S)
        self._stderr.close()


def backtrace(pid: int) -> str:
    """The innermost calls of every thread of a process, for the report of a hang."""
    command = ["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 10"]
    with contextlib.suppress(FileNotFoundError, subprocess.TimeoutExpired):
        shown = subprocess.run(command, capture_output=True, text=True, timeout=WATCHDOG_S).stdout
        return "\n".join(line[:160] for line in shown.splitlines() if line.startswith(("#", "Thread")))
    return "(no backtrace: Debian package gdb)"


def _serve(requests: socket.socket) -> None:
    while True:
        data = requests.recv(1 << 16)
        if not data:
            return
        request = json.loads(data)
        if "reap" in request:
            answer = os.waitstatus_to_exitcode(os.waitpid(request["reap"], 0)[1])
        else:
            answer = os.fork()
            if answer == 0:
                _be_child(requests, request)
        requests.send(json.dumps(answer).encode())


def _be_child(requests: socket.socket, request: dict) -> None:
    code = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        requests.close()
        module, function = request["start"].split(":")
        getattr(importlib.import_module(module), function)(**request["config"])
        code = 0
    except BaseException:  # noqa: BLE001 (reported, and the process ends)
        report = f"process {os.getpid()} ({request['start']}):\n{traceback.format_exc()}"
        os.write(2, report.encode())  # in one piece, whoever else writes
    finally:
        os._exit(code)


if __name__ == "__main__":
    for _name in sys.argv[2:]:
        importlib.import_module(_name)
    _serve(socket.socket(fileno=int(sys.argv[1])))
