# SPDX-License-Identifier: Apache-2.0
"""A thread that sleeps until one of its subscriptions can be read.

The server's loop sleeps in ZeroMQ's poll, the topics' readers in the core's wait. The thread does the second, and an
eventfd of it ends the first.
"""

from __future__ import annotations

import os
import threading
from collections import deque

from slipring._bus.native import _native
from slipring.errors import SlipringError

from .server_subscription import ServerSubscription


class ReadableWatch:
    """`add` gives the thread a subscription; `readable` returns those that can be read."""

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._bell = _native.Bell()
        self._lock = threading.Condition()
        self._idle: set[ServerSubscription] = set()
        self._in_use: frozenset[ServerSubscription] = frozenset()  # by the thread, at this moment
        self._readable: deque[ServerSubscription] = deque()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="slipring-bridge-watch", daemon=True)
        self._thread.start()

    def add(self, subscription: ServerSubscription) -> None:
        with self._lock:
            self._idle.add(subscription)
        self._bell.ring()

    def remove(self, subscription: ServerSubscription) -> None:
        """Take a subscription from the thread. It can be closed afterwards, which frees its cursor."""
        with self._lock:
            self._idle.discard(subscription)
            self._bell.ring()
            self._lock.wait_for(lambda: subscription not in self._in_use)

    def wake_loop(self) -> None:
        os.eventfd_write(self.descriptor, 1)

    def readable(self) -> list[ServerSubscription]:
        """Return what can be read, once."""
        try:
            os.eventfd_read(self.descriptor)
        except BlockingIOError:
            return []
        with self._lock:
            readable = list(self._readable)
            self._readable.clear()
        return readable

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
                self._sleep(idle, rings)
            finally:
                with self._lock:
                    self._in_use = frozenset()
                    self._lock.notify_all()

    def _sleep(self, idle: tuple[ServerSubscription, ...], rings: int) -> None:
        readable = [subscription for subscription in idle if subscription.is_readable()]
        if readable:
            with self._lock:
                self._readable.extend(subscription for subscription in readable if subscription in self._idle)
                self._idle.difference_update(readable)
            self.wake_loop()
            return
        try:
            _native.wait(
                tuple(subscription.subscriber for subscription in idle), self._bell, rings, None, 0.0
            )
        except SlipringError:
            return  # is_readable finds the subscription, and reading it reports the error
