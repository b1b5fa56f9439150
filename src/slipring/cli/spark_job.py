# SPDX-License-Identifier: Apache-2.0
"""A Spark job in a thread of its own, so that a signal never breaks into a call to the JVM.

PySpark calls the JVM over one connection per thread. A signal's exception in the middle of a call leaves half of an
answer there, which the next call takes for its own; in a finalizer it is lost. Here it ends the wait for the thread.
Then the JVM is ended: a replay or a report has nothing in it that could be lost. Calls under way fail with it, and
a job that is publishing ends where it next shows its figures.
"""

from __future__ import annotations

import logging
import socketserver
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

from slipring.cli.terminal.process_exit import Stopped

if TYPE_CHECKING:
    from slipring.pipelines.progress import Figures, Show

T = TypeVar("T")
_LOOK_EVERY_S = 0.1


class _Cancelled(Exception):
    """The job was asked to end."""


class _Job(threading.Thread, Generic[T]):
    def __init__(self, job: Callable[[Show], T], show: Show) -> None:
        super().__init__(name="slipring-job", daemon=True)
        self.result: Future[T] = Future()
        self.is_asked_to_end = self._is_cancelled = False
        self.is_computing = False
        self._job, self._show = job, show

    def run(self) -> None:
        try:
            self.result.set_result(self._job(self._shown))
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self.result.set_exception(error)

    def _shown(self, figures: Figures) -> None:
        """Show them; in this thread also the place where a job that publishes ends when it is asked to."""
        self.is_computing = figures.stage is not None
        if not self.is_asked_to_end:
            self._show(figures)
        elif threading.current_thread() is self and not self._is_cancelled:
            self._is_cancelled = True  # what is shown from here on is the clean-up's
            raise _Cancelled


def _silence() -> None:
    """What threads of PySpark and py4j say when their JVM ends. The process is about to end."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None
    socketserver.BaseServer.handle_error = lambda *_: None  # type: ignore[method-assign]


def run(job: Callable[[Show], T], show: Show) -> T:
    """Return what ``job(show)`` returns. A signal ends the job, and is raised as Stopped when it has ended."""
    from slipring.pipelines import jvm

    apart = _Job(job, show)
    try:
        apart.start()
        return apart.result.result()
    except Stopped:
        _silence()
        apart.is_asked_to_end = True
        # While it computes in somebody else's Spark it cannot be ended from here; it ends with the process.
        while apart.is_alive() and (jvm.kill() or jvm.is_starting or not apart.is_computing):
            apart.join(_LOOK_EVERY_S)
        raise
