# SPDX-License-Identifier: Apache-2.0
"""What calls stand on: time, chance, who lives, how one waits, and threads. This is the ground of shared memory; a
stepped bus (slipring.testing) has another one, where all of it is driven by the test.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ..native import _native
from .crew import Crew
from .inbox import Inbox

if TYPE_CHECKING:
    import asyncio

    from ..bus import Bus
    from ..publisher import Publisher
    from ..subscriber import Subscriber
    from .callers import Caller

_SPIN_US = 50.0
_LOOK_FOR_SERVER_S = 0.002
_LOOK_FOR_END_S = 0.02
_LOOK_FOR_ROOM_S = 0.002


class Looker(Protocol):
    """Whether the owner of a writer entry lives."""

    def owner(self, entry: int, /) -> int:
        """Its incarnation; 0 when nobody does."""
        ...

    def close(self) -> None: ...


class Bell(Protocol):
    """Wakes whoever waits for requests."""

    def ring(self) -> None: ...
    def rings(self) -> int: ...


class Event(Protocol):
    def set(self) -> None: ...
    def is_set(self) -> bool: ...
    def wait(self, timeout: float | None = None) -> bool: ...


class Started(Protocol):
    """A function that runs beside its starter."""

    def join(self, timeout: float | None = None) -> None: ...


class Ground:
    busy_s = 0.1  # how long a seat may look taken: a client that asks by trying the lock has it for a moment
    slice_s = 0.02  # of a wait for room: then one looks whether the server lives
    look_every_s = 1.0  # whether clients live
    retries_s = (0.002, 0.05)  # of what found no room: the first, and while nothing moves

    def __init__(self, bus: Bus) -> None:
        self.clock = bus.clock
        self._path = bus.path

    def random(self, size: int) -> bytes:
        return os.urandom(size)

    # Who lives

    def looker(self, topic: str) -> Looker:
        return _native.Looker(self._path, topic)

    def exists(self, topic: str) -> bool:
        return os.path.exists(os.path.join(self._path, f"{topic}.ring"))

    def await_server(self, service: str, left: float | None) -> None:
        """For a while; sooner if there is one."""
        time.sleep(_LOOK_FOR_SERVER_S)

    def last_words(self) -> contextlib.AbstractContextManager[None]:
        """Around what a server or client does at its end: one that was killed by a test does nothing."""
        return contextlib.nullcontext()

    # Waiting

    def bell(self) -> Bell:
        return _native.Bell()

    def await_requests(
        self, requests: Subscriber, bell: Bell, rings: int, timeout: float, changed: Callable[[], bool]
    ) -> None:
        """Until there may be one, the bell was rung, or the time is up to see what has changed."""
        _native.wait((requests,), bell, rings, timeout, _SPIN_US)  # type: ignore[arg-type]  # our own bell

    def has_room(self, caller: Caller, message: bytes) -> bool:
        """Whether it is worth trying: here that costs less than asking."""
        return True

    async def room(self, caller: Caller, message: bytes) -> None:
        import asyncio

        await asyncio.sleep(_LOOK_FOR_ROOM_S)

    def event(self) -> Event:
        return threading.Event()

    async def until_set(self, event: Event) -> None:
        import asyncio  # slow to import, and most programs do without

        while not event.is_set():
            await asyncio.sleep(_LOOK_FOR_END_S)

    # Who does it

    def crew(self, *arguments: Any) -> Crew:
        return Crew(*arguments)

    def inbox(
        self,
        replies: Subscriber,
        requests: Publisher,
        lives: Callable[[int], bool],
        send: Callable[[bytes], bool],
    ) -> Inbox:
        return Inbox(replies, lives, send)

    def start(self, function: Callable[[], None], name: str, *, daemon: bool = True) -> Started:
        thread = threading.Thread(target=function, name=name, daemon=daemon)
        thread.start()
        return thread

    def new_loop(self) -> asyncio.AbstractEventLoop:
        import asyncio

        return asyncio.new_event_loop()
