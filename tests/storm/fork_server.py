# SPDX-License-Identifier: Apache-2.0
"""A small process that has imported the modules of its children, and forks a child on request.

    with ForkServer(preload=["storm.roles"]) as server:
        process = server.start("storm.roles:publisher", **config)
        process.kill()              # SIGKILL and reap

The server never opens a bus, so children inherit nothing. A child starts in milliseconds, without the start of an
interpreter. The server reaps children on request only, so a pid stays valid until then. Children end with the server,
and the server ends with the process that started it. It has a process group of its own, so that Ctrl-C reaches the
supervisor alone.
"""

import contextlib
import ctypes
import importlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
PR_SET_PDEATHSIG = 1
WATCHDOG_S = 300.0  # limits waits for events that always happen


class Process:
    def __init__(self, server: "ForkServer", pid: int, name: str) -> None:
        self._server, self.pid, self.name = server, pid, name
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
        """Return the exit code, or the negative number of the signal that ended it."""
        if self.code is None:
            if not self._ended(WATCHDOG_S):
                raise AssertionError(f"{self.name} did not end\n{backtrace(self.pid)}")
            self.code = self._server.ask(reap=self.pid)
            self._server.processes.remove(self)
            os.close(self._pidfd)
        return self.code


class ForkServer:
    """`label` appears in the command line of every process. `errors()` returns their stderr."""

    def __init__(
        self, preload: list[str], environment: dict[str, str] | None = None, label: str = ""
    ) -> None:
        self.processes: list[Process] = []
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close)
        command = [sys.executable, "-P", __file__, str(theirs.fileno()), label, *preload]
        paths = [
            os.environ.get("PYTHONPATH", ""),
            str(TESTS),
            str(TESTS.parent),
        ]  # a package under test comes first
        path = {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        self._server = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stderr=self._stderr,
            env={**os.environ, **(environment or {}), **path},
            process_group=0,
        )
        theirs.close()
        self._socket.settimeout(WATCHDOG_S)

    def __enter__(self) -> "ForkServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, target: str, **config: Any) -> Process:
        process = Process(self, self.ask(start=target, config=config), f"{target} {config.get('name', '')}")
        self.processes.append(process)
        return process

    def ask(self, **request: Any) -> Any:
        self._socket.send(json.dumps(request).encode())
        answer = self._socket.recv(1 << 16)
        assert answer, f"the fork server ended\n{self.errors()}"
        return json.loads(answer)

    @property
    def pid(self) -> int:
        return self._server.pid

    def errors(self) -> str:
        return os.pread(self._stderr.fileno(), 1 << 20, 0).decode(errors="replace")

    def error_of(self, pid: int) -> str:
        """Return the last line that the process reported."""
        found = re.findall(rf"^(process {pid}\b.*\n(?:(?!process \d).*\n)*)", self.errors(), re.M)
        return found[-1].strip().splitlines()[-1] if found else ""

    def close(self) -> None:
        for process in list(self.processes):
            process.kill()
        self._socket.close()
        self._server.wait(WATCHDOG_S)
        self._stderr.close()


def backtrace(pid: int) -> str:
    """Return the innermost calls of every thread of a process, for the report of a hang."""
    command = ["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 10"]
    with contextlib.suppress(FileNotFoundError, subprocess.TimeoutExpired):
        shown = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
        return "\n".join(line[:160] for line in shown.splitlines() if line.startswith(("#", "Thread")))
    return "(no backtrace: Debian package gdb)"


def die_with_parent(parent: int) -> None:
    """Let the kernel send SIGKILL when the parent process ends."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _serve(requests: socket.socket) -> None:
    while True:
        data = requests.recv(1 << 16)
        if not data:
            return
        request = json.loads(data)
        if "reap" in request:
            answer = os.waitstatus_to_exitcode(os.waitpid(request["reap"], 0)[1])
        else:
            parent, answer = os.getpid(), os.fork()
            if answer == 0:
                _run_child(requests, request, parent)
        requests.send(json.dumps(answer).encode())


def _run_child(requests: socket.socket, request: dict[str, Any], parent: int) -> None:
    code = 1
    try:
        die_with_parent(parent)
        requests.close()
        module, function = request["start"].split(":")
        getattr(importlib.import_module(module), function)(**request["config"])
        code = 0
    except BaseException:  # noqa: BLE001 (reported, and the process ends)
        report = f"process {os.getpid()} ({request['start']}):\n{traceback.format_exc()}"
        os.write(2, report.encode())  # one write, so that reports do not mix
    finally:
        os._exit(code)


if __name__ == "__main__":
    for _name in sys.argv[3:]:
        importlib.import_module(_name)
    _serve(socket.socket(fileno=int(sys.argv[1])))
