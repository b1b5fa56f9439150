# SPDX-License-Identifier: Apache-2.0
"""Two processes and the control line between them: who opens when, warming up, how many messages."""

import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterator
from time import monotonic

# No sample is meant to last this long: whoever is still there is ended by the kernel, watched or not.
LIFETIME_S = 20


class ControlLine:
    """JSON lines between the two processes, apart from what is measured."""

    def __init__(self, end: socket.socket) -> None:
        # Two streams: a text stream open both ways forgets what it read ahead whenever it writes.
        self.reading, self.writing = end.makefile("r"), end.makefile("w")

    def tell(self, value) -> None:
        print(json.dumps(value), file=self.writing, flush=True)

    def hear(self):
        line = self.reading.readline()
        if not line:
            raise EOFError("the other process ended early; its error is above")
        return json.loads(line)

    def meet(self) -> None:
        """Both sides wait here for each other."""
        self.tell("here")
        self.hear()


Role = Callable[[ControlLine], object]


def in_two_processes(here: Role, there: Role, apart: bool) -> object:
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
        _run_child(there, ControlLine(theirs))
    theirs.close()
    try:
        result = here(ControlLine(ours))
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.waitpid(child, 0)
    return result


def _run_child(role: Role, line: ControlLine) -> None:
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


def counts(line: ControlLine, first: int, seconds: float) -> Iterator[int]:
    """How many messages to do in each phase: a cold one, one to learn the pace, the measured one.

    The deciding side gets them and the other side is told. The pace is learned from how long the caller took
    before it asked for the next count; only its last figure counts.
    """
    count = first
    for share in (0.2, 1.0):
        start = monotonic()
        line.tell(count)
        yield count
        pace = count / max(monotonic() - start, 1e-6)
        count = max(first, round(pace * seconds * share))
    line.tell(count)
    yield count
    line.tell(0)


def told_counts(line: ControlLine) -> Iterator[int]:
    """The other side of ``counts``."""
    while count := line.hear():
        yield count
