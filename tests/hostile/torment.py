# SPDX-License-Identifier: Apache-2.0
"""Keeps a company of tormented processes and tells which died of a signal, failed otherwise, or hang."""

import time
from pathlib import Path

from storm.board import Board
from storm.fork_server import ForkServer, Process, backtrace
from support.waiting import WATCHDOG_S

MOST_FAILURES = 5
COMPANY = [
    ("publish", {"loans": False}),
    ("publish", {"loans": True}),
    ("subscribe", {"settings": {"start": "oldest"}}),
    ("subscribe", {"settings": {"start": "last", "lossy": True, "conflate": True}}),
    ("subscribe", {"settings": {"start": "oldest", "cursor": "c", "types": ["t"]}}),
    ("converse", {}),
    ("inspect", {}),
]


class Company:
    def __init__(self, server: ForkServer, root: Path, board_path: Path, company=COMPANY) -> None:
        self.server, self.company = server, company
        self.board = Board(board_path)
        self.config = {"root": str(root), "board_path": str(board_path)}
        self.failures: list[str] = []
        self.members: list[Process] = [self._start(seat) for seat in range(len(company))]

    def _start(self, seat: int) -> Process:
        target, settings = self.company[seat]
        return self.server.start(f"hostile.tormented:{target}", seat=seat, **settings, **self.config)

    def expect_calls(self, calls: int, when: str) -> None:
        """Until every member has made so many calls more; a failure is noted and the member replaced."""
        wanted = [self.board.beats(seat) + calls for seat in range(len(self.members))]
        deadline = time.monotonic() + WATCHDOG_S
        for seat, beats in enumerate(wanted):
            while self.board.beats(seat) < beats:
                if len(self.failures) >= MOST_FAILURES:
                    return
                if not self.members[seat].alive:
                    self._replace(
                        seat, f"ended with {self.members[seat].join()} {when}\n{self._last_error()}"
                    )
                elif time.monotonic() > deadline:
                    stack = backtrace(self.members[seat].pid)
                    self.members[seat].kill()
                    self._replace(seat, f"hangs {when}\n{stack}")
                    deadline += WATCHDOG_S
                time.sleep(0.0005)

    def _replace(self, seat: int, failure: str) -> None:
        self.failures.append(f"{self.company[seat]} {failure}")
        self.members[seat] = self._start(seat)

    def _last_error(self) -> str:
        return self.server.errors()[-2000:]

    def close(self) -> None:
        self.board.close()
