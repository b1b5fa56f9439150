# SPDX-License-Identifier: Apache-2.0
"""How the process ends: signals, closed pipes, and the last words on stderr.

SIGINT, SIGTERM and SIGHUP become one exception, so that every handle is closed on the way out; then the
process dies of that same signal, because a shell decides by it whether to continue its script.  A closed
stdout counts as SIGPIPE.  A second signal during the clean-up kills at once.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

INTERRUPT = signal.SIGINT
_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal asked the command to end."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


def prepare() -> None:
    """Descriptors 0 to 2 are taken, so that no segment becomes "stdout"; stdout can write every character."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def catch_signals() -> None:
    """From here on they become ``Stopped``: there may be handles to close."""
    for signum in _HANDLED:
        if signal.getsignal(signum) != signal.SIG_IGN:
            signal.signal(signum, _stop)


def _stop(signum: int, _frame: FrameType | None) -> None:
    for other in _HANDLED:
        if signal.getsignal(other) == _stop:
            signal.signal(other, signal.SIG_DFL)
    raise Stopped(signum)


def die(signum: int) -> NoReturn:
    """End by ``signum``'s default action, so that the parent sees which signal it was."""
    discard_output()
    signal.signal(signum, signal.SIG_DFL)
    os.kill(os.getpid(), signum)
    sys.exit(128 + signum)  # reached where default actions are ignored: process 1 of a container


def complain(line: str) -> None:
    """One line on stderr, in the command's name."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"slipring: {line}\n")
        sys.stderr.flush()
    except OSError:
        pass  # nobody reads stderr: there is no further place to complain


def flush() -> None:
    """Write out what stdout still buffers; a reader that left counts as SIGPIPE."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise Stopped(signal.SIGPIPE) from None


def discard_output() -> None:
    """Point stdout at nothing, so that the interpreter's own flush at exit cannot fail or wait."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
