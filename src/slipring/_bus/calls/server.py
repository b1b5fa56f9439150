# SPDX-License-Identifier: Apache-2.0
"""Server: offers methods under a service's name."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from slipring.errors import BadArgument, Closed, ForkedHandle, SlipringError, TopicExists

from .. import settings
from ..closing import Closing
from ..logs import log
from . import codecs, leftovers, names
from .clients import Clients
from .decoding import LONGEST_METHOD
from .desk import Desk
from .failures import Failures
from .handling import Method
from .seat import Seat
from .work import Limits, Work

if TYPE_CHECKING:
    from ..bus import Bus
    from ..subscriber import Subscriber

Function = TypeVar("Function", bound=Callable[..., Any])


class Server(Closing):
    """Made by `Bus.server`, which takes the service's seat: Busy while another server lives."""

    def __init__(
        self,
        bus: Bus,
        service: str,
        *,
        workers: int = 1,
        codec: str | codecs.Codec = "msgpack",
        backlog: int = 1024,
        tasks: int = 1000,
        capacity: int | str = "4MiB",
        max_clients: int = 256,
        mode: int | None = None,
        tracebacks: bool = False,
    ) -> None:
        self.service = names.check_service(service)
        bus._check_text("service", service)
        bus._topic(names.calls_topic(service))
        self._bus = bus
        self._codec = codecs.find(codec)
        limits = Limits(*map(settings.positive, Limits._fields, (workers, backlog, tasks)))
        self._ground = ground = bus._ground()
        self._lock = threading.Lock()
        self._ended = ground.event()  # no more calls are taken
        self._left = ground.event()  # nothing is left behind
        self._started = self._closing = False
        self._error: SlipringError | None = None
        topic = {
            "capacity": settings.size_bytes("capacity", capacity), "slots": 4096, "delivery": "reliable",
            "writers": "many", "max_writers": settings.positive("max_clients", max_clients),
            "max_readers": 16, "max_cursors": 1, **({} if mode is None else {"mode": mode}),
        }  # fmt: skip
        self._process = os.getpid()
        self._seat = Seat(bus, ground, service, mode)
        try:
            leftovers.remove_all(bus, service)
            seat, clients = self._seat, Clients(bus, service, Failures(service, bool(tracebacks)))
            self._desk = Desk(ground, clients, seat.instance, lambda: self._open(topic), seat.check)
        except BaseException:
            self._seat.leave()
            raise
        self._work = Work(ground, service, self._desk, self._codec, limits)
        self._desk.lost = self._fail

    def _open(self, topic: dict[str, Any]) -> Subscriber:
        name = names.calls_topic(self.service)
        try:
            return self._open_before_making(name, topic)
        except TopicExists:
            self._bus.remove(name, missing_ok=True)  # of a server with other settings, which is gone
            return self._open_before_making(name, topic)

    def _open_before_making(self, name: str, topic: dict[str, Any]) -> Subscriber:
        """The reader first: a client may send as soon as the topic exists."""
        # defect server_reads_too_late: self._bus.create(name, **topic)
        #     return self._bus.subscriber(name, start="new")
        requests = self._bus.subscriber(name, start="new")
        try:
            self._bus.create(name, **topic)
            requests._ready()  # attaches it
        except BaseException:
            requests.close()
            raise
        return requests

    # Methods

    @overload
    def method(self, function: Function, *, name: str | None = None) -> Function: ...
    @overload
    def method(self, function: None = None, *, name: str | None = None) -> Callable[[Function], Function]: ...
    def method(self, function: Any = None, *, name: str | None = None) -> Any:
        """Offer a function, under its own name or another: a call or a decorator. It may be plain or async,
        and a generator of either kind answers in parts."""
        self._refuse_inherited()
        if function is None:
            return lambda decorated: self.method(decorated, name=name)
        if not callable(function):
            raise TypeError(f"method takes a function, not {type(function).__name__}")
        chosen = name if name is not None else getattr(function, "__name__", None)
        if not isinstance(chosen, str):
            raise TypeError("name must be str")
        if not 0 < len(chosen.encode()) <= LONGEST_METHOD:
            raise BadArgument(f"name must have 1 to {LONGEST_METHOD} bytes", argument="name")
        if chosen in self._work.methods:
            raise BadArgument(f"there is a method '{chosen}' already: give another name", argument="name")
        self._work.methods[chosen] = Method.of(function)
        return function

    # Life

    def _inherited(self) -> bool:
        """A forked child has its parent's server, without the threads that answer."""
        return self._process != os.getpid()

    def _refuse_inherited(self) -> None:
        if self._inherited():
            raise ForkedHandle("this server was started before fork(): open a new one in the child")

    def start(self) -> Self:
        """Answer calls in threads of its own."""
        self._refuse_inherited()
        with self._lock:
            if self.closed:
                raise self._error or Closed("this server is closed")
            if not self._started:
                self._started = True
                self._work.keeper = self
                self._work.crew.start()
                self._seat.announce(self._codec.name)
        return self

    def run(self) -> None:
        """Answer calls until closed, or until Ctrl-C, which closes it. Raises TopicGone if the service's topics are
        deleted."""
        try:
            self.start()
            self._ended.wait()
        except KeyboardInterrupt:
            pass  # as promised; whoever needs to know uses start()
        finally:
            self.close()
        if self._error is not None:
            raise self._error

    async def serve(self) -> None:
        """Answer calls until closed or cancelled, with async methods on this event loop."""
        import asyncio  # slow to import, and most programs do without

        self._work.looping().use(asyncio.get_running_loop())
        try:
            self.start()
            await self._ground.until_set(self._ended)
        finally:
            self.close()
        if self._error is not None:
            raise self._error

    def _fail(self, error: SlipringError) -> None:
        """In a thread of the crew, which cannot wait for itself."""
        self._error = error
        log("calls", "error", "server of service '%s' ends: %s", self.service, error)
        self._work.crew.closing = True
        self._ground.start(self.close, f"slipring-{self.service}-end", daemon=False)

    def close(self, grace: float = 0.0) -> None:
        """Stop. Methods that run have `grace` seconds to end; whoever still waits then gets PeerGone."""
        seconds = settings.timeout_s(grace, "grace")
        # defect forked_child_closes_server: if False:
        if self._inherited():
            self._ended.set()  # for us; the service is our parent's
            return
        with self._lock:
            first, self._closing = not self._closing, True
            self._ended.set()
        if not first:
            self._left.wait()  # another thread closes it
            return
        try:
            with self._ground.last_words():
                self._work.crew.stop(threading.TIMEOUT_MAX if seconds is None else seconds)
                self._leave()
        finally:
            self._left.set()

    def _leave(self) -> None:
        self._work.end()
        with contextlib.suppress(SlipringError):  # else the next server takes it as it is
            self._bus.remove(names.calls_topic(self.service), missing_ok=True)
        self._seat.leave()

    @property
    def closed(self) -> bool:
        return self._ended.is_set()

    @property
    def error(self) -> SlipringError | None:
        """Why it ended by itself: its topics were deleted under it."""
        return self._error

    def stats(self) -> dict[str, Any]:
        """Counters since the start, and what is going on."""
        return {"service": self.service, **self._desk.stats(), **self._work.stats()}

    def __repr__(self) -> str:
        state = "closed" if self.closed else "started" if self._started else "not started"
        return f"<Server {self.service!r} {state}, {len(self._work.methods)} methods>"


Server.__module__ = "slipring"
