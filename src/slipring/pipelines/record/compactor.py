# SPDX-License-Identifier: Apache-2.0
"""A thread that compacts a lake now and then while it is recorded into."""

from __future__ import annotations

import threading

from slipring._bus.logs import log
from slipring.errors import SlipringError

from ..lake import Lake, LakeBusy

LEAST = 8  # small files of a topic and date, before they are worth the work


class Compactor(threading.Thread):
    """Compacts every so many seconds; None: never."""

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
                compact(Lake.open(self._path), at_least=LEAST, stopped=self._stopped.is_set)
            except LakeBusy:
                continue  # somebody else does it
            except SlipringError as error:
                self.failure = error  # the recording goes on; it is told at the end
                log("lake", "warning", "%s is not compacted any more: %s", self._path, error)
                return

    def stop(self) -> None:
        self._stopped.set()
        if self.ident is not None:
            self.join()
