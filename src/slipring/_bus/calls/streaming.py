# SPDX-License-Identifier: Apache-2.0
"""An answer in parts. A stream runs until its credit or its client's room is used up, then it rests, without
a thread, until there is more: a client that does not read costs nobody anything but the suspended generator.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from . import encoding
from .callers import pieces
from .context import CURRENT
from .messages import Error, Reason

if TYPE_CHECKING:
    from .codecs import Codec
    from .job import Job

_PARTS_AT_ONCE = 64  # then others have their turn


class Rest(Enum):
    """Why a stream stopped for now."""

    DONE = auto()
    CREDIT = auto()
    ROOM = auto()
    TURN = auto()


class Streaming:
    def __init__(self, job: Job, codec: Codec, values: Iterator[Any] | None) -> None:
        self._job, self._codec, self._values = job, codec, values
        self._messages: Iterator[bytes] = iter(())
        self._next: bytes | None = None
        self._last = False
        self.credit = job.window
        self.resting = False  # for credit: whoever gives some lets it run

    @property
    def next(self) -> bytes | None:
        """What is to be sent next."""
        return self._next

    def grant(self, messages: int) -> bool:
        """More credit; True if the stream rested for it and is to be run."""
        with self._job.lock:
            self.credit += messages
            wake, self.resting = self.resting, False
            return wake

    def run(self) -> Rest:
        """As far as it goes; for generators, in a worker's thread."""
        assert self._values is not None
        for _ in range(_PARTS_AT_ONCE):
            rest = self.flush()
            if rest is not None:
                return rest
            self.load(self._pull)
        return Rest.TURN

    def flush(self) -> Rest | None:
        """Send what is loaded; None when the next part may be loaded."""
        job = self._job
        while self._next is not None:
            if job.cancelled:
                return self.stop()
            if not self._last:
                with job.lock:
                    # defect stream_ignores_credit: if self.credit <= -100_000:
                    if self.credit <= 0:
                        self.resting = True
                        return Rest.CREDIT
            if not job.caller.send(self._next):
                return Rest.ROOM
            self.credit -= 0 if self._last else 1
            self._next = next(self._messages, None)
        return self.stop() if self._last or job.cancelled else None

    def load(self, pull: Any) -> None:
        """Make the next messages: of a value, or the end."""
        job = self._job
        try:
            value = self._codec.encode_value(pull())
        except StopIteration:
            self.finish(encoding.end(job.req_id))
        except BaseException as error:  # noqa: BLE001 - whatever a method raises belongs to its caller
            self.finish(encoding.error(job.req_id, job.caller.failures.report(job, error)))
        else:
            self.set_value(value)

    def set_value(self, value: bytes | memoryview) -> None:
        job = self._job
        if job.max_answer and len(value) > job.max_answer:
            self.finish(encoding.error(job.req_id, too_large(len(value), job.max_answer)))
            return
        self._messages = pieces(job, value, job.caller.piece, part=True)
        self._next = next(self._messages)

    def finish(self, message: bytes) -> None:
        self._messages, self._next, self._last = iter(()), message, True

    def _pull(self) -> Any:
        token = CURRENT.set(self._job)
        try:
            return next(self._values)  # type: ignore[arg-type]
        finally:
            CURRENT.reset(token)

    def stop(self) -> Rest:
        """It is over: the generator's own clean-up runs now."""
        self._next, values = None, self._values
        self._values = iter(())
        close = getattr(values, "close", None)
        if close is not None:
            with contextlib.suppress(BaseException):  # nobody is left to be told
                close()
        return Rest.DONE


def too_large(size: int, limit: int) -> Error:
    hint = "raise the client's max_answer, or use stream()"
    return Error(Reason.TOO_LARGE, "", f"the answer has {size} bytes, max_answer is {limit}: {hint}")
