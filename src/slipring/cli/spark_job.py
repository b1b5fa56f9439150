# SPDX-License-Identifier: Apache-2.0
"""Run a Spark job in its own thread, so that a signal never interrupts a call to the JVM.

PySpark calls the JVM over one connection per thread. If a signal raises an exception in the middle of a call, half an
answer is left, which the next call would take for its own; in a finalizer the exception is lost. In this module the
exception ends only the wait for the thread. Then the JVM is ended, in which a replay or a report can lose nothing.
Calls in progress fail, and a job that publishes ends when it next shows its figures.
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
    from slipring.pipelines.job_progress import Figures, Show

T = TypeVar("T")
_LOOK_EVERY_S = 0.1


class _Cancelled(Exception):
    """The job was requested to end."""


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
        """Show the figures; a publishing job that was requested to end raises here."""
        self.is_computing = figures.stage is not None
        if not self.is_asked_to_end:
            self._show(figures)
        elif threading.current_thread() is self and not self._is_cancelled:
            self._is_cancelled = True  # later figures are those of the clean-up
            raise _Cancelled


def _silence() -> None:
    """Discard the output of PySpark's and py4j's threads when their JVM ends; the process is about to end."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None
    socketserver.BaseServer.handle_error = lambda *_: None  # type: ignore[method-assign]


def run(job: Callable[[Show], T], show: Show) -> T:
    """Return the result of ``job(show)``. A signal ends the job and is raised as Stopped after its end."""
    from slipring.pipelines import jvm

    apart = _Job(job, show)
    try:
        apart.start()
        return apart.result.result()
    except Stopped:
        _silence()
        apart.is_asked_to_end = True
        # A job that computes in an external Spark cannot be ended from here; it ends with the process.
        while apart.is_alive() and (jvm.kill() or jvm.is_starting or not apart.is_computing):
            apart.join(_LOOK_EVERY_S)
        raise
