# SPDX-License-Identifier: Apache-2.0
"""One thread sleeps for all subscriptions of a server that have room and nothing to send.

The server's loop sleeps in ZeroMQ's poll, the topics' readers in the core's wait. The thread here does the
second, and tells the first through an eventfd which subscriptions have something.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import TYPE_CHECKING

from slipring._bus.native import _native
from slipring.errors import SlipringError

if TYPE_CHECKING:
    from .outlet import Outlet


class Watch:
    """Hand over idle subscriptions with `watch`; those with news come back from `fired`."""

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._bell = _native.Bell()
        self._lock = threading.Condition()
        self._idle: set[Outlet] = set()
        self._in_use: frozenset[Outlet] = frozenset()  # by the thread, at this moment
        self._fired: deque[Outlet] = deque()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="slipring-bridge-watch", daemon=True)
        self._thread.start()

    def watch(self, outlet: Outlet) -> None:
        with self._lock:
            self._idle.add(outlet)
        self._bell.ring()

    def forget(self, outlet: Outlet) -> None:
        """Afterwards the thread does not use it: closed now, it is closed, and its cursor free for the next."""
        with self._lock:
            self._idle.discard(outlet)
            self._bell.ring()
            self._lock.wait_for(lambda: outlet not in self._in_use)

    def wake(self) -> None:
        """End the loop's poll, whatever it waits for."""
        os.eventfd_write(self.descriptor, 1)

    def fired(self) -> list[Outlet]:
        try:
            os.eventfd_read(self.descriptor)
        except BlockingIOError:
            return []
        with self._lock:
            ready = list(self._fired)
            self._fired.clear()
        return ready

    def close(self) -> None:
        self._closed = True
        self._bell.ring()
        self._thread.join()
        os.close(self.descriptor)

    def _run(self) -> None:
        while not self._closed:
            rings = self._bell.rings()
            with self._lock:
                idle = tuple(self._idle)
                self._in_use = frozenset(idle)
            try:
                self._look(idle, rings)
            finally:
                with self._lock:
                    self._in_use = frozenset()
                    self._lock.notify_all()

    def _look(self, idle: tuple[Outlet, ...], rings: int) -> None:
        ready = [outlet for outlet in idle if outlet.has_news()]
        if ready:
            with self._lock:
                self._fired.extend(outlet for outlet in ready if outlet in self._idle)
                self._idle.difference_update(ready)
            self.wake()
            return
        try:
            _native.wait(tuple(outlet.subscriber for outlet in idle), self._bell, rings, None, 0.0)
        except SlipringError:
            return  # found again, and told, by has_news
