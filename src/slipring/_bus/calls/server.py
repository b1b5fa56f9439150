# SPDX-License-Identifier: Apache-2.0
"""Server: offers methods under a service's name."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from slipring.errors import BadArgument, Closed, SlipringError, TopicExists

from .. import settings
from . import codecs, leftovers, names
from .crew import Crew
from .decoding import LONGEST_METHOD
from .desk import Desk
from .handling import Method, Refused, answer, invoke, refuse
from .job import Job
from .looping import Looping
from .messages import Reason
from .seat import Seat
from .streaming import Rest, Streaming

if TYPE_CHECKING:
    from ..bus import Bus
    from ..subscriber import Subscriber

Function = TypeVar("Function", bound=Callable[..., Any])
_COUNTERS = ("calls", "errors", "expired", "cancelled", "refused", "malformed", "failures")


class Server:
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
    ) -> None:
        self.service = names.check_service(service)
        bus._topic(names.calls_topic(service))
        self._bus = bus
        self._codec = codecs.find(codec)
        self._backlog = settings.positive("backlog", backlog)
        self._most_tasks = settings.positive("tasks", tasks)
        self._methods: dict[str, Method] = {}
        self._counters = dict.fromkeys(_COUNTERS, 0)
        self._lock = threading.Lock()
        self._ended = threading.Event()  # no more calls are taken
        self._left = threading.Event()  # nothing is left behind
        self._started = False
        limit = settings.positive("workers", workers)
        topic = {
            "capacity": settings.size_bytes("capacity", capacity), "slots": 4096, "delivery": "reliable",
            "writers": "many", "max_writers": settings.positive("max_clients", max_clients),
            "max_readers": 16, "max_cursors": 1, **({} if mode is None else {"mode": mode}),
        }  # fmt: skip
        self._seat = Seat(bus, service, mode)
        try:
            leftovers.remove_all(bus.path, service)
            self._desk = Desk(bus, service, self._seat.instance, lambda: self._open(topic), self._counters)
        except BaseException:
            self._seat.leave()
            raise
        desk = self._desk
        self._looping = Looping(self._codec, lambda job: desk.keep(job.caller))
        self._crew = Crew(service, limit, desk.receive, self._run, desk.pressed, desk.ring)
        crew = self._crew
        desk.admit, desk.resume, desk.has_work = self._admit, crew.put, lambda: crew.has_work

    def _open(self, topic: dict[str, Any]) -> Subscriber:
        name = names.calls_topic(self.service)
        try:
            self._bus.create(name, **topic)
        except TopicExists:
            self._bus.remove(name, missing_ok=True)  # of a server with other settings, which is gone
            self._bus.create(name, **topic)
        return self._bus.subscriber(name, start="new")

    # Methods

    @overload
    def method(self, function: Function, *, name: str | None = None) -> Function: ...
    @overload
    def method(self, function: None = None, *, name: str | None = None) -> Callable[[Function], Function]: ...
    def method(self, function: Any = None, *, name: str | None = None) -> Any:
        """Offer a function, under its own name or another: a call or a decorator. It may be plain or async,
        and a generator of either kind answers in parts."""
        if function is None:
            return lambda decorated: self.method(decorated, name=name)
        if not callable(function):
            raise TypeError(f"method takes a function, not {type(function).__name__}")
        chosen = name if name is not None else getattr(function, "__name__", None)
        if not isinstance(chosen, str):
            raise TypeError("name must be str")
        if not 0 < len(chosen.encode()) <= LONGEST_METHOD:
            raise BadArgument(f"name must have 1 to {LONGEST_METHOD} bytes", argument="name")
        if chosen in self._methods:
            raise BadArgument(f"there is a method '{chosen}' already: give another name", argument="name")
        self._methods[chosen] = Method.of(function)
        return function

    # Life

    def start(self) -> Self:
        """Answer calls in threads of its own."""
        with self._lock:
            if self.closed:
                raise Closed("this server is closed")
            if not self._started:
                self._started = True
                self._crew.start()
                self._seat.announce(self._codec.name)
        return self

    def run(self) -> None:
        """Answer calls until closed, or until Ctrl-C."""
        try:
            self.start()
            self._ended.wait()
        finally:
            self.close()

    async def serve(self) -> None:
        """Answer calls until closed or cancelled, with async methods on this event loop."""
        loop = asyncio.get_running_loop()
        self._looping.use(loop)
        try:
            self.start()
            while not self._ended.is_set():
                await asyncio.sleep(0.02)
        finally:
            self.close()

    def close(self, grace: float = 0.0) -> None:
        """Stop. Methods that run have `grace` seconds to end; whoever still waits then gets PeerGone."""
        seconds = settings.timeout_s(grace) or 0.0
        with self._lock:
            first = not self._ended.is_set()
            self._ended.set()
        if not first:
            self._left.wait()  # another thread closes it
            return
        try:
            self._crew.stop(seconds)
            self._leave()
        finally:
            self._left.set()

    def _leave(self) -> None:
        desk = self._desk
        desk.admit = self._turn_away
        waiting = [job for caller in list(desk.callers.values()) for job in list(caller.open.values())]
        desk.refuse_all(waiting, most=4096)
        self._looping.close()
        desk.close()
        with contextlib.suppress(SlipringError):  # else the next server takes it as it is
            self._bus.remove(names.calls_topic(self.service), missing_ok=True)
        self._seat.leave()

    @property
    def closed(self) -> bool:
        return self._ended.is_set()

    def stats(self) -> dict[str, Any]:
        """Counters since the start, and what is going on."""
        return {
            "service": self.service,
            **self._counters,
            **self._desk.stats(),
            "waiting": self._crew.waiting,
            "running": self._crew.running + self._looping.running,
        }

    # One job, in a thread of the crew

    def _turn_away(self, job: Job) -> bool:
        self._desk.refuse(job, Reason.GONE)
        return False

    def _admit(self, job: Job) -> bool:
        """Whether the thread that received it runs it now."""
        self._counters["calls"] += 1
        nested = job.instance in job.trail
        method = self._methods.get(job.method)
        if method is None:
            known = ", ".join(sorted(self._methods)[:20]) or "none"
            self._refuse(job, Reason.UNKNOWN_METHOD, f"there is no method '{job.method}': there is {known}")
            return False
        if method.is_async:
            if self._looping.running >= self._most_tasks:
                self._refuse(job, Reason.FULL, f"{self._most_tasks} tasks are running")
            else:
                self._looping.submit(job, method)
            return False
        if self._crew.admit(at_once=nested):
            return True
        if self._crew.waiting >= self._backlog:
            self._refuse(job, Reason.FULL, f"{self._backlog} calls are waiting")
        else:
            self._crew.put(job)
        return False

    def _refuse(self, job: Job, reason: Reason, message: str) -> None:
        self._counters["refused"] += 1
        self._desk.refuse(job, reason, message)

    def _run(self, job: Job) -> None:
        if job.streaming is not None:
            self._continue(job, job.streaming)
            return
        if job.cancelled or job.late:
            self._counters["expired"] += 1
            job.caller.open.pop(job.req_id, None)
            return
        try:
            value = invoke(self._methods[job.method], job, self._codec)
        except Refused as refused:
            self._counters["errors"] += 1
            sent = refuse(job, refused.error)
        else:
            if type(value) is types.GeneratorType and job.window:
                job.streaming = Streaming(job, self._codec, value)
                self._continue(job, job.streaming)
                return
            sent = answer(job, self._codec, value)
        if not sent:
            self._desk.keep(job.caller)

    def _continue(self, job: Job, streaming: Streaming) -> None:
        rest = streaming.run()
        if rest is Rest.DONE:
            job.caller.open.pop(job.req_id, None)
        elif rest is Rest.ROOM:
            self._desk.rest(job)
        elif rest is Rest.TURN:
            self._crew.put(job)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "started" if self._started else "not started"
        return f"<Server {self.service!r} {state}, {len(self._methods)} methods>"


Server.__module__ = "slipring"
