# SPDX-License-Identifier: Apache-2.0
"""What found no room in a client's ring: tried again soon, and ever more rarely while nothing moves."""

from __future__ import annotations

import threading
from collections.abc import Callable

from .callers import Caller
from .job import Job


class Unsent:
    def __init__(self, ring: Callable[[], None], retries_s: tuple[float, float]) -> None:
        self._ring = ring  # whoever waits has less patience from now on
        self._lock = threading.Lock()
        self._callers: set[Caller] = set()  # with answers
        self._streams: list[Job] = []  # that rest
        self._tried = 0.0
        self._sent = 0
        self._retries_s = retries_s  # the first, and while nothing moves
        self.patience = retries_s[0]

    def __bool__(self) -> bool:
        return bool(self._callers or self._streams)

    def keep(self, caller: Caller) -> None:
        """Answers were kept for this client."""
        with self._lock:
            first = not self
            self._callers.add(caller)
        if first:
            self._ring()

    def rest(self, job: Job) -> None:
        """A stream stopped for want of room."""
        with self._lock:
            first = not self
            self._streams.append(job)
        if first:
            self._ring()

    def can_go_on(self, has_room: Callable[[Caller, bytes], bool]) -> bool:
        """Whether trying again would send something, or find that nobody waits for it any more."""
        with self._lock:
            kept = [caller.first_kept for caller in self._callers]
            streams = [(job, job.streaming.next) for job in self._streams if job.streaming]
        if None in kept:
            return True  # it is sent already
        first = [(answer.job, answer.next) for answer in kept if answer]
        return any(job.cancelled or has_room(job.caller, next or b"") for job, next in [*first, *streams])

    def due(self, now: float) -> bool:
        return now - self._tried >= self.patience

    def retry(self, now: float, sent: int) -> list[Job]:
        """Send what can be sent; the streams that are to be run. `sent` grows when anything moves."""
        moved, self._sent, self._tried = sent != self._sent, sent, now
        first, last = self._retries_s
        self.patience = first if moved else min(2 * self.patience, last)
        with self._lock:
            callers, streams = list(self._callers), self._streams
            self._streams = []
        for caller in callers:
            if caller.retry():
                with self._lock:
                    if not caller.kept:
                        self._callers.discard(caller)
        return streams
