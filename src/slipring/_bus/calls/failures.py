# SPDX-License-Identifier: Apache-2.0
"""What becomes of an exception in a method: a record in the server's log, and the error that its caller gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..logs import log
from .messages import Error, Reason

if TYPE_CHECKING:
    from types import TracebackType

    from .job import Job

_OURS = __package__


class Failures:
    def __init__(self, service: str, tracebacks: bool) -> None:
        self._service, self._tracebacks = service, tracebacks

    def report(self, job: Job, error: BaseException) -> Error:
        """Log it, and return what is sent."""
        trace = _of_the_method(error.__traceback__)
        log(
            "calls", "error",
            "method '%s' of service '%s' raised %s, called by client %s",
            job.method, self._service, type(error).__name__, job.client,
            exc_info=(type(error), error, trace),
        )  # fmt: skip
        return describe(error, _text(error, trace) if self._tracebacks else "")


def _of_the_method(trace: TracebackType | None) -> TracebackType | None:
    """Without the frames of the server, as long as something is left."""
    while trace is not None and trace.tb_frame.f_globals.get("__package__") == _OURS and trace.tb_next:
        trace = trace.tb_next
    return trace


def _text(error: BaseException, trace: TracebackType | None) -> str:
    import traceback  # slow to import, and few servers send it

    try:
        return "".join(traceback.format_exception(type(error), error, trace))
    except Exception:  # noqa: BLE001 - an exception that cannot be printed
        return ""


def describe(error: BaseException, trace: str = "") -> Error:
    return Error(Reason.RAISED, type(error).__name__, text_of(error), trace)


def text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception that cannot even be printed
        return ""
