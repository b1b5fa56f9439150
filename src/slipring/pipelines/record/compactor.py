# SPDX-License-Identifier: Apache-2.0
"""A thread that compacts a lake from time to time while a recording writes into it."""

from __future__ import annotations

import threading

from slipring._bus.logs import log
from slipring.errors import SlipringError

from ..lake import Lake, LakeBusy

AT_LEAST = 8  # small files of a topic and date, before merging them is worth the work


class Compactor(threading.Thread):
    """Compacts every `every_s` seconds; None: never."""

    def __init__(self, lake: Lake, every_s: float | None) -> None:
        super().__init__(name="slipring-compactor", daemon=True)
        self._path = lake.path
        self._every_s = every_s
        self._stopped = threading.Event()
        self.failure: SlipringError | None = None

    def run(self) -> None:
        from ..lake.compact import compact

        while not self._stopped.wait(self._every_s) and self._every_s:
            try:
                compact(Lake.open(self._path), at_least=AT_LEAST, stopped=self._stopped.is_set)
            except LakeBusy:
                continue  # another process compacts it
            except SlipringError as error:
                self.failure = error  # the recording goes on, and its summary reports the failure
                log("lake", "warning", "compaction of %s is switched off: %s", self._path, error)
                return

    def stop(self) -> None:
        self._stopped.set()
        if self.ident is not None:
            self.join()
