# SPDX-License-Identifier: Apache-2.0
"""Server: offers methods under a service's name."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from slipring.errors import BadArgument, Closed, ForkedHandle, SlipringError

from ... import settings
from ...closing import Closing
from ...logs import log
from .. import cleanup, codecs
from ..protocol import MAX_METHOD, calls_topic, check_service
from .dispatcher import Dispatcher, Limits
from .method_call import Coders, Method, Service
from .presence import Presence

if TYPE_CHECKING:
    from ..runtime import TopicBus

Function = TypeVar("Function", bound=Callable[..., Any])


class Server(Closing):
    """Made by `Bus.server`, which takes the service: Busy while another server lives."""

    def __init__(
        self,
        bus: TopicBus,
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
        self.service = check_service(service)
        settings.check_text("service", service)
        bus._topic(calls_topic(service))
        self._codec = codecs.find(codec)
        limits = Limits(*map(settings.positive, Limits._fields, (workers, backlog, tasks)))
        self._runtime = runtime = bus._calls_runtime()
        self._lock = threading.Lock()
        self._ended = runtime.event()  # no more calls are taken
        self._left = runtime.event()  # nothing is left behind
        self._started = self._closing = False
        self._error: SlipringError | None = None
        topic = {
            "capacity": settings.size_bytes("capacity", capacity), "slots": 4096, "delivery": "reliable",
            "writers": "many", "max_writers": settings.positive("max_clients", max_clients),
            "max_readers": 16, "max_cursors": 1, **({} if mode is None else {"mode": mode}),
        }  # fmt: skip
        self._process = os.getpid()
        self._presence = presence = Presence(bus, runtime, service, mode)
        try:
            cleanup.remove_all(bus, service)
            seen = Service(service, presence.instance, self._codec, runtime.clock, bool(tracebacks))
            self._dispatcher = Dispatcher(bus, runtime, seen, presence, limits, topic, self._lose)
        except BaseException:
            presence.leave()
            raise

    # Methods

    @overload
    def method(self, function: Function, *, name: str | None = None) -> Function: ...
    @overload
    def method(self, function: None = None, *, name: str | None = None) -> Callable[[Function], Function]: ...
    def method(self, function: Any = None, *, name: str | None = None) -> Any:
        """Offer a function under its own name or another; also as a decorator.

        The function may be plain or async; a generator of either kind answers in parts. With codec "msgpack" its
        annotations are checked: callers get BadArguments for arguments that do not fit."""
        self._refuse_inherited()
        if function is None:
            return lambda decorated: self.method(decorated, name=name)
        if not callable(function):
            raise TypeError(f"method takes a function, not {type(function).__name__}")
        chosen = name if name is not None else getattr(function, "__name__", None)
        if not isinstance(chosen, str):
            raise TypeError("name must be str")
        if not 0 < len(chosen.encode()) <= MAX_METHOD:
            raise BadArgument(f"name must have 1 to {MAX_METHOD} bytes", argument="name")
        if chosen in self._dispatcher.methods:
            raise BadArgument(f"method '{chosen}' exists already: give another name", argument="name")
        self._dispatcher.methods[chosen] = Method.of(function, self._coders(function, chosen))
        return function

    def _coders(self, function: Callable[..., Any], name: str) -> Coders:
        codec = self._codec
        if isinstance(codec, codecs.Msgpack) and _is_annotated(function):
            from . import annotated_methods  # slow to import, and most methods do without

            return annotated_methods.prepare(function, name, codec)
        return Coders(codec.decode_arguments, codec.encode_value, codec.encode_value)

    # Life

    def _inherited(self) -> bool:
        """Return whether this is a forked child, which has its parent's server without the threads that answer."""
        return self._process != os.getpid()

    def _refuse_inherited(self) -> None:
        if self._inherited():
            raise ForkedHandle("this server was started before fork(): open a new one in the child")

    def start(self) -> Self:
        """Start to answer calls, in threads of the server."""
        self._refuse_inherited()
        with self._lock:
            if self.closed:
                raise self._error or Closed("this server is closed")
            if not self._started:
                self._started = True
                self._dispatcher.start()
                self._presence.announce(self._codec.name)
        return self

    def run(self) -> None:
        """Answer calls until closed, or until Ctrl-C, which closes it. Raises TopicGone if the service's topics are
        deleted."""
        try:
            self.start()
            self._ended.wait()
        except KeyboardInterrupt:
            pass  # as promised; a program that handles Ctrl-C itself uses start()
        finally:
            self.close()
        if self._error is not None:
            raise self._error

    async def serve(self) -> None:
        """Answer calls until closed or cancelled, with async methods on this event loop."""
        import asyncio  # slow to import, and most programs do without

        self._dispatcher.async_methods().use(asyncio.get_running_loop())
        try:
            self.start()
            await self._runtime.await_event(self._ended)
        finally:
            self.close()
        if self._error is not None:
            raise self._error

    def _lose(self, error: SlipringError) -> None:
        """Close after the topics were deleted; called by a worker's thread, which cannot wait for itself."""
        self._error = error
        log("calls", "error", "server of service '%s' ends: %s", self.service, error)
        self._runtime.start(self.close, f"slipring-{self.service}-end", daemon=False)

    def close(self, grace: float = 0.0) -> None:
        """Stop. Methods that run have `grace` seconds to end; callers that still wait then get PeerGone."""
        seconds = settings.timeout_s(grace, "grace")
        # defect forked_child_closes_server: if False:
        if self._inherited():
            self._ended.set()  # for this process; the service is its parent's
            return
        with self._lock:
            first, self._closing = not self._closing, True
            self._ended.set()
        if not first:
            self._left.wait()  # another thread closes it
            return
        try:
            with self._runtime.closing():
                self._dispatcher.close(threading.TIMEOUT_MAX if seconds is None else seconds)
                self._presence.leave()
        finally:
            self._left.set()

    @property
    def closed(self) -> bool:
        return self._ended.is_set()

    @property
    def error(self) -> SlipringError | None:
        """The error that ended the server: its topics were deleted. Else None."""
        return self._error

    def stats(self) -> dict[str, Any]:
        """Return counters since the start, and the numbers of running and waiting calls."""
        return {"service": self.service, **self._dispatcher.stats()}

    def __repr__(self) -> str:
        state = "closed" if self.closed else "started" if self._started else "not started"
        return f"<Server {self.service!r} {state}, {len(self._dispatcher.methods)} methods>"


def _is_annotated(function: Callable[..., Any]) -> bool:
    import inspect

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function written in C
        return False
    except NameError:  # from Python 3.14 on, annotations are evaluated here
        return True
    given = (signature.return_annotation, *(each.annotation for each in signature.parameters.values()))
    return any(each is not signature.empty for each in given)


Server.__module__ = "slipring"
