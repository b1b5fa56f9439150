# SPDX-License-Identifier: Apache-2.0
"""The end of the process: signals, closed pipes, and the last lines on stderr.

SIGINT, SIGTERM and SIGHUP become one exception, so that all handles are closed. Then the process ends itself by the
same signal, because a shell decides by it whether to continue its script. A closed stdout counts as SIGPIPE. A second
signal during the clean-up ends the process at once.
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
    """A signal requested the end of the command."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


def prepare() -> None:
    """Occupy descriptors 0 to 2, so that no segment becomes "stdout"; let stdout write every character."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def catch_signals() -> None:
    """Turn signals into ``Stopped`` from now on, because there may be handles to close."""
    for signum in _HANDLED:
        if signal.getsignal(signum) != signal.SIG_IGN:
            signal.signal(signum, _stop)


def _stop(signum: int, _frame: FrameType | None) -> None:
    for other in _HANDLED:
        if signal.getsignal(other) == _stop:
            signal.signal(other, signal.SIG_DFL)
    raise Stopped(signum)


def die(signum: int) -> NoReturn:
    """End by the default action of ``signum``, so that the parent sees the signal."""
    discard_output()
    signal.signal(signum, signal.SIG_DFL)
    os.kill(os.getpid(), signum)
    sys.exit(128 + signum)  # reached in process 1 of a container, where default actions are ignored


def complain(line: str) -> None:
    """Write one line on stderr, after the name of the command."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"slipring: {line}\n")
        sys.stderr.flush()
    except OSError:
        pass  # stderr has no reader: there is no other place for the message


def flush() -> None:
    """Write out stdout's buffer; a closed pipe counts as SIGPIPE."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise Stopped(signal.SIGPIPE) from None


def discard_output() -> None:
    """Redirect stdout to nothing, so that the interpreter's flush at exit cannot fail or wait."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
