# SPDX-License-Identifier: Apache-2.0
"""Waiting on many remote subscribers at once: each rings a bell when something arrives."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .subscriber import RemoteSubscriber


class Bell(Protocol):
    def ring(self) -> None: ...


class _ThreadBell:
    def __init__(self) -> None:
        self.rung = threading.Event()

    def ring(self) -> None:
        self.rung.set()


class _Remote:
    """All remote buses of this process."""

    monotonic = staticmethod(time.monotonic)

    def sleep(self, subscribers: tuple[RemoteSubscriber, ...], timeout: float | None) -> None:
        bell = _ThreadBell()
        for subscriber in subscribers:
            subscriber.add_bell(bell)
        try:  # what came before its bell was added is seen here
            if not any(subscriber.has_something() for subscriber in subscribers):
                bell.rung.wait(timeout)
        finally:
            for subscriber in subscribers:
                subscriber.remove_bell(bell)


REMOTE = _Remote()
