# SPDX-License-Identifier: Apache-2.0
"""When a recording ends, counted from the moment of the call, and at which offsets it ends then.

A thread watches, because Spark may still be starting. A recording of three seconds has the messages of three seconds,
without those of the time in which Spark started.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from slipring.errors import BadArgument, SlipringError

from ..job_progress import Figures, Show
from .end_offsets import EndOffsets, save_end_offsets
from .topic_extents import TopicExtents

UPDATE_EVERY_S = 0.2


class Limits:
    """for_s: seconds since start(). until_idle_s: seconds without a message. stop: an event of the caller's."""

    def __init__(self, for_s: float | None, until_idle_s: float | None, stop: threading.Event | None) -> None:
        for name, value in (("for_s", for_s), ("until_idle_s", until_idle_s)):
            if value is not None and not value > 0:
                raise BadArgument(f"{name}={value!r} must be above 0", argument=name)
        self._for_s, self._until_idle_s = for_s, until_idle_s
        self._stop = stop or threading.Event()
        self._decided = threading.Event()  # the thread is not needed any more
        self._ends: EndOffsets | None = None
        self._path: Path | None = None
        self._failure: SlipringError | OSError | None = None
        self._thread: threading.Thread | None = None
        self.started_s = time.monotonic()

    def start(self, extents: TopicExtents, path: Path) -> None:
        """Count from now on. path: the file in which the query finds the end offsets."""
        path.unlink(missing_ok=True)  # of a run that was killed
        self._path = path
        self.started_s = time.monotonic()
        self._thread = threading.Thread(
            target=self._watch, args=(extents,), name="slipring-record-limits", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._decided.set()
        if self._thread is not None:
            self._thread.join()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _watch(self, extents: TopicExtents) -> None:
        try:
            while not self._decided.is_set():
                left_s = UPDATE_EVERY_S
                if self._for_s is not None:
                    left_s = min(left_s, max(0.0, self.started_s + self._for_s - time.monotonic()))
                if self._stop.wait(left_s) or (self._for_s is not None and self.elapsed_s() >= self._for_s):
                    break
                extents.update()
            if not self._decided.is_set():
                self.decide(extents.end_offsets())
        except (SlipringError, OSError) as error:  # the disk is full, or the lake was removed
            self._failure = error

    def elapsed_s(self) -> float:
        return time.monotonic() - self.started_s

    def decide(self, ends: EndOffsets) -> EndOffsets:
        """End the recording at these offsets."""
        self._decided.set()
        assert self._path is not None
        save_end_offsets(self._path, ends)
        self._ends = ends
        return ends

    def reached(self, idle_s: float, now: Callable[[], EndOffsets]) -> EndOffsets | None:
        """Return the end offsets if a limit is reached, or None while the recording goes on."""
        if self._failure is not None:
            raise self._failure
        if self._ends is None and self._until_idle_s is not None and idle_s >= self._until_idle_s:
            return self.decide(now())
        return self._ends

    def with_time_left(self, show: Show | None) -> Show | None:
        """Return the same display, with the time that is left."""
        if show is None or self._for_s is None:
            return show
        for_s = self._for_s

        def with_eta(figures: Figures) -> None:
            show(replace(figures, eta_s=max(for_s - self.elapsed_s(), 0.0)))

        return with_eta
