# SPDX-License-Identifier: Apache-2.0
"""Run processes that use a damaged topic, and report signal deaths, other failures and hangs."""

import time
from pathlib import Path

from storm.board import Board
from storm.fork_server import ForkServer, Process, backtrace
from support.waiting import WATCHDOG_S

MOST_FAILURES = 5
ROLES = [
    ("publish", {"loans": False}),
    ("publish", {"loans": True}),
    ("subscribe", {"settings": {"start": "oldest"}}),
    ("subscribe", {"settings": {"start": "last", "lossy": True, "conflate": True}}),
    ("subscribe", {"settings": {"start": "oldest", "cursor": "c", "types": ["t"]}}),
    ("converse", {}),
    ("inspect", {}),
]


class Supervisor:
    def __init__(self, server: ForkServer, root: Path, board_path: Path, roles=ROLES) -> None:
        self.server, self.roles = server, roles
        self.board = Board(board_path)
        self.config = {"root": str(root), "board_path": str(board_path)}
        self.failures: list[str] = []
        self.processes: list[Process] = [self._start(row) for row in range(len(roles))]

    def _start(self, row: int) -> Process:
        target, settings = self.roles[row]
        return self.server.start(f"hostile.participants:{target}", row=row, **settings, **self.config)

    def expect_calls(self, calls: int, when: str) -> None:
        """Wait until every process has made this many more calls; record each failure and replace the process."""
        wanted = [self.board.beats(row) + calls for row in range(len(self.processes))]
        deadline = time.monotonic() + WATCHDOG_S
        for row, beats in enumerate(wanted):
            while self.board.beats(row) < beats:
                if len(self.failures) >= MOST_FAILURES:
                    return
                if not self.processes[row].alive:
                    self._replace(
                        row, f"ended with {self.processes[row].join()} {when}\n{self._last_error()}"
                    )
                elif time.monotonic() > deadline:
                    stack = backtrace(self.processes[row].pid)
                    self.processes[row].kill()
                    self._replace(row, f"hangs {when}\n{stack}")
                    deadline += WATCHDOG_S
                time.sleep(0.0005)

    def _replace(self, row: int, failure: str) -> None:
        self.failures.append(f"{self.roles[row]} {failure}")
        self.processes[row] = self._start(row)

    def _last_error(self) -> str:
        return self.server.errors()[-2000:]

    def close(self) -> None:
        self.board.close()
