# SPDX-License-Identifier: Apache-2.0
"""When a recording is over, counted from the moment it was asked for, and where it ends on each topic then.

A thread watches, because Spark may be starting: what is asked for three seconds has the messages of three seconds, and
not those of the time that Spark took.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from slipring.errors import BadArgument, SlipringError

from ..progress import Figures, Show
from .ends import Ends, save_ends
from .tails import Tails

LOOK_EVERY_S = 0.2


class Limits:
    """for_s: seconds from begin() on. until_idle_s: seconds without a message. stop: asked by somebody else."""

    def __init__(self, for_s: float | None, until_idle_s: float | None, stop: threading.Event | None) -> None:
        for name, value in (("for_s", for_s), ("until_idle_s", until_idle_s)):
            if value is not None and not value > 0:
                raise BadArgument(f"{name}={value!r} is not above zero", argument=name)
        self._for_s, self._until_idle_s = for_s, until_idle_s
        self._stop = stop or threading.Event()
        self._over = threading.Event()  # the thread is not needed any more
        self._ends: Ends | None = None
        self._path: Path | None = None
        self._failure: SlipringError | OSError | None = None
        self._thread: threading.Thread | None = None
        self.begun_s = time.monotonic()

    def begin(self, tails: Tails, path: Path) -> None:
        """From now on. path: where the end is told to the query, at once."""
        path.unlink(missing_ok=True)  # of a run that died
        self._path = path
        self.begun_s = time.monotonic()
        self._thread = threading.Thread(
            target=self._watch, args=(tails,), name="slipring-record-limits", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _watch(self, tails: Tails) -> None:
        try:
            while not self._over.is_set():
                left_s = LOOK_EVERY_S
                if self._for_s is not None:
                    left_s = min(left_s, max(0.0, self.begun_s + self._for_s - time.monotonic()))
                if self._stop.wait(left_s) or (self._for_s is not None and self.passed_s() >= self._for_s):
                    break
                tails.look()
            if not self._over.is_set():
                self.decide(tails.ends())
        except (SlipringError, OSError) as error:  # no space, or no lake any more
            self._failure = error

    def passed_s(self) -> float:
        return time.monotonic() - self.begun_s

    def decide(self, ends: Ends) -> Ends:
        """The recording ends there."""
        self._over.set()
        assert self._path is not None
        save_ends(self._path, ends)
        self._ends = ends
        return ends

    def reached(self, idle_s: float, now: Callable[[], Ends]) -> Ends | None:
        """Where the recording ends; None: it goes on."""
        if self._failure is not None:
            raise self._failure
        if self._ends is None and self._until_idle_s is not None and idle_s >= self._until_idle_s:
            return self.decide(now())
        return self._ends

    def shown(self, show: Show | None) -> Show | None:
        """The same with the time that is left."""
        if show is None or self._for_s is None:
            return show
        for_s = self._for_s

        def with_eta(figures: Figures) -> None:
            show(replace(figures, eta_s=max(for_s - self.passed_s(), 0.0)))

        return with_eta
