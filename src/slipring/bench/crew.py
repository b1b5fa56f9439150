# SPDX-License-Identifier: Apache-2.0
"""Any number of forked processes beside the measured one, each at the other end of a control line."""

import os
import signal
import socket
from collections.abc import Callable

from slipring.bench.pair import LIFETIME_S, ControlLine, run_child


class Crew:
    """Leaving the block waits for everybody; leaving it with an error ends them first."""

    def __init__(self) -> None:
        self.children: list[int] = []

    def start(self, role: Callable[[ControlLine], None]) -> ControlLine:
        """Run ``role`` in a process of its own; the line leads to it."""
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            # Whoever watches them then finds the line closed.
            signal.alarm(LIFETIME_S)
            ours.close()
            run_child(role, ControlLine(theirs))
        theirs.close()
        self.children.append(child)
        return ControlLine(ours)

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        codes = []
        for child in self.children:
            if kind is not None:
                os.kill(child, signal.SIGKILL)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        if kind is None and any(codes):
            raise ChildProcessError(f"a process ended with {next(filter(None, codes))}")
