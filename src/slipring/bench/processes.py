# SPDX-License-Identifier: Apache-2.0
"""Processes of a sample and the control lines between them: who opens when, warming up, how many messages."""

import json
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

# No sample takes this long. The kernel ends a process that still exists, even if nothing watches it.
LIFETIME_S = 20


class ControlLine:
    """JSON lines between the two processes, apart from what is measured."""

    def __init__(self, end: socket.socket) -> None:
        # Two streams: a text stream open both ways forgets what it read ahead whenever it writes.
        self.reading, self.writing = end.makefile("r"), end.makefile("w")
        # Processor seconds of both processes in the phase that counts.
        self.cpu_s: float | None = None

    def tell(self, value: Any) -> None:
        print(json.dumps(value), file=self.writing, flush=True)

    def hear(self) -> Any:
        line = self.reading.readline()
        if not line:
            raise EOFError("the other process ended early; its error is above")
        return json.loads(line)

    def meet(self) -> None:
        """Both sides wait here for each other."""
        self.tell("here")
        self.hear()


# Numbers by name; "histogram" is the one text among them.
Figures = dict[str, Any]


def in_two_processes(
    here: Callable[[ControlLine], Figures], there: Callable[[ControlLine], None], apart: bool
) -> Figures:
    """Run ``there`` in a forked child and ``here`` in this process; returns what ``here`` returns.

    ``apart``: on the two processors whose distance the cache-line probe measures.
    """
    ours, theirs = socket.socketpair()
    processors = sorted(os.sched_getaffinity(0))[:2] if apart else []
    child = os.fork()
    signal.alarm(LIFETIME_S)
    if len(processors) == 2:
        os.sched_setaffinity(0, {processors[child == 0]})
    if child == 0:
        ours.close()
        run_child(there, ControlLine(theirs))
    theirs.close()
    line = ControlLine(ours)
    try:
        result = here(line)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.waitpid(child, 0)
    if line.cpu_s is not None and result.get("messages"):
        result["cpu_s_per_million"] = line.cpu_s * 1e6 / result["messages"]
    return result


def run_child(role: Callable[[ControlLine], None], line: ControlLine) -> None:
    """The rest of a forked process."""
    code = 1
    try:
        role(line)
        code = 0
    finally:
        if code:
            traceback.print_exc()
        sys.stderr.flush()
        # Not sys.exit: the parent's cleanup must not run twice.
        os._exit(code)


def cpu_s() -> float:
    """Processor seconds of this process so far, its threads included."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def counts(line: ControlLine, first: int, seconds: float) -> Iterator[int]:
    """How many messages to do in each phase: a cold one, one to learn the pace, the measured one.

    The deciding side computes them and sends them to the other side. The time between two requests of the caller
    gives the pace. Only the last figure counts.
    """
    count = first
    for share in (0.2, 1.0):
        start = monotonic()
        line.tell(count)
        yield count
        pace = count / max(monotonic() - start, 1e-6)
        count = max(first, round(pace * seconds * share))
    line.tell(count)
    before = cpu_s()
    yield count
    spent = cpu_s() - before
    line.tell(0)
    line.cpu_s = spent + line.hear()


def told_counts(line: ControlLine) -> Iterator[int]:
    """The other side of ``counts``."""
    spent = 0.0
    while count := line.hear():
        before = cpu_s()
        yield count
        spent = cpu_s() - before
    line.tell(spent)


class Workers:
    """Any number of forked processes, each at the other end of a control line.

    Leaving the block waits for all of them; leaving it with an error ends them first.
    """

    def __init__(self) -> None:
        self.children: list[int] = []

    def start(self, role: Callable[[ControlLine], None]) -> ControlLine:
        """Run ``role`` in a process of its own; the line leads to it."""
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            signal.alarm(LIFETIME_S)
            ours.close()
            run_child(role, ControlLine(theirs))
        theirs.close()
        self.children.append(child)
        return ControlLine(ours)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        codes = []
        for child in self.children:
            if kind is not None:
                os.kill(child, signal.SIGKILL)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        if kind is None and any(codes):
            raise ChildProcessError(f"a process ended with {next(filter(None, codes))}")
