# SPDX-License-Identifier: Apache-2.0
"""Tasks that wait for answers. A task looks itself for a moment; then a thread reads for all, and ends
when none has waited for a while.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from .pending import Pending

_FIRST_SLICE_S = 0.001
_LAST_SLICE_S = 0.02
_GLANCE_S = 0.00003  # that a task may look without giving up its loop
_IDLE_S = 0.05  # a reading thread for which no task waits ends after this long


class Awaiting:
    def __init__(self, read: Callable[[float, float], bool | None]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None
        self._tasks = 0
        self._changed = threading.Event()

    async def wait(self, call: Pending, deadline: float | None) -> None:
        """Until the call has something; Timeout at the deadline (time.monotonic)."""
        if not call.ready:
            self._read(_GLANCE_S, 0)
        if call.ready:
            return
        import asyncio  # slow to import, and most programs do without

        self._count(1)
        try:
            while True:
                call.future = asyncio.get_running_loop().create_future()
                if call.ready:
                    return
                left = None if deadline is None else deadline - time.monotonic()
                await asyncio.wait_for(call.future, left)
        except TimeoutError:
            if not call.ready:
                raise call.late() from None
        finally:
            call.future = None
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._lock:
            self._tasks += change
            self._changed.set()
            if self._reader is None and self._tasks:
                self._reader = threading.Thread(target=self._run, name="slipring-replies", daemon=True)
                self._reader.start()

    def _run(self) -> None:
        slice_s = _FIRST_SLICE_S
        while True:
            with self._lock:
                self._changed.clear()
                waiting = self._tasks > 0
            if waiting:
                found = self._read(slice_s, _LAST_SLICE_S)
                if found is not None:  # else a thread reads, for us too
                    slice_s = _FIRST_SLICE_S if found else min(2 * slice_s, _LAST_SLICE_S)
            elif not self._changed.wait(_IDLE_S):
                with self._lock:
                    if not self._tasks:
                        self._reader = None
                        return
