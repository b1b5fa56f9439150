# SPDX-License-Identifier: Apache-2.0
"""What calls need from their surroundings: a bus, time, random numbers, liveness of peers, waiting, threads.

This is the runtime of shared memory. The stepped bus of slipring.testing has another one, driven by the test.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ..native import _native

if TYPE_CHECKING:
    import asyncio

    from ..publisher import Publisher
    from ..subscriber import Subscriber
    from ..wait import Clock

_SPIN_US = 50.0
_SERVER_POLL_S = 0.002
_END_POLL_S = 0.02
_ROOM_POLL_S = 0.002


class TopicBus(Protocol):
    """The part of a Bus that calls use."""

    @property
    def clock(self) -> Clock: ...
    @property
    def path(self) -> str: ...
    def publisher(self, topic: str, *args: Any, **kwargs: Any) -> Publisher: ...
    def subscriber(self, topic: str, *args: Any, **kwargs: Any) -> Subscriber: ...
    def create(self, topic: str, *args: Any, **kwargs: Any) -> Any: ...
    def remove(self, topic: str, *args: Any, **kwargs: Any) -> Any: ...
    def _topic(self, topic: str) -> Any: ...
    def _names(self) -> list[str]: ...
    def _tables(self, topic: str) -> dict[str, Any]: ...
    def _remove(self, topic: str) -> Any: ...
    def _calls_runtime(self) -> Runtime: ...


class Inspector(Protocol):
    """Reads who owns a writer entry of a topic."""

    def owner(self, entry: int, /) -> int:
        """Return the incarnation of the living owner, or 0."""
        ...

    def close(self) -> None: ...


class Bell(Protocol):
    """Wakes the thread that waits for requests."""

    def ring(self) -> None: ...
    def rings(self) -> int: ...


class Event(Protocol):
    def set(self) -> None: ...
    def is_set(self) -> bool: ...
    def wait(self, timeout: float | None = None) -> bool: ...


class Started(Protocol):
    """A function that runs beside its starter."""

    def join(self, timeout: float | None = None) -> None: ...


class Runtime:
    busy_s = (
        0.1  # a client that tests the lock of a service holds it for a moment: the server retries this long
    )
    slice_s = 0.02  # of a wait for room, between two checks whether the server lives
    check_every_s = 1.0  # whether clients live
    retries_s = (0.002, 0.05)  # of messages without room: the first retry, and the slowest

    worker_threads: Callable[..., Any] | None = None  # instead of WorkerThreads
    replies: Callable[..., Any] | None = None  # instead of Replies

    def __init__(self, bus: TopicBus) -> None:
        self.clock = bus.clock
        self._path = bus.path

    def random(self, size: int) -> bytes:
        return os.urandom(size)

    # Liveness

    def inspector(self, topic: str) -> Inspector:
        return _native.Inspector(self._path, topic)

    def exists(self, topic: str) -> bool:
        return os.path.exists(os.path.join(self._path, f"{topic}.ring"))

    def await_server(self, service: str, left: float | None) -> None:
        """Wait for a moment, or until the service has a server."""
        time.sleep(_SERVER_POLL_S)

    def closing(self) -> contextlib.AbstractContextManager[None]:
        """Surround the end of a server or client; one that was killed by a test does nothing there."""
        return contextlib.nullcontext()

    # Waiting

    def bell(self) -> Bell:
        return _native.Bell()

    def await_requests(
        self, requests: Subscriber, bell: Bell, rings: int, timeout: float, changed: Callable[[], bool]
    ) -> None:
        """Wait for a request, a ring of the bell since `rings`, or the timeout.

        changed: only the stepped runtime uses it."""
        _native.wait((requests,), bell, rings, timeout, _SPIN_US)  # type: ignore[arg-type]  # our own bell

    def has_room(self, publisher: Publisher, message: bytes) -> bool:
        """Whether sending is worth a try; trying is cheaper than asking here."""
        return True

    async def await_room(self, found: Callable[[], bool]) -> None:
        """Wait for a moment, or until `found`."""
        import asyncio

        await asyncio.sleep(_ROOM_POLL_S)

    def event(self) -> Event:
        return threading.Event()

    async def await_event(self, event: Event) -> None:
        import asyncio  # slow to import, and most programs do without

        while not event.is_set():
            await asyncio.sleep(_END_POLL_S)

    # Threads

    def start(self, function: Callable[[], None], name: str, *, daemon: bool = True) -> Started:
        thread = threading.Thread(target=function, name=name, daemon=daemon)
        thread.start()
        return thread

    def new_loop(self) -> asyncio.AbstractEventLoop:
        import asyncio

        return asyncio.new_event_loop()
