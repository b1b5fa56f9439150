# SPDX-License-Identifier: Apache-2.0
"""Client: calls the methods of a service. One object serves any number of threads and tasks."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument, Corrupt, Full, PeerGone

from .. import settings
from ..closing import Closing
from . import codecs, encoding, names
from .connection import SMALLEST_REPLY, Connection, deadline_ns
from .context import current_job
from .decoding import LONGEST_METHOD
from .messages import Call
from .pending import Pending
from .stream import AsyncStream, Stream

if TYPE_CHECKING:
    from ..bus import Bus
    from .inbox import Inbox

MAX_TRAIL = 16


class Client(Closing):
    """Made by `Bus.client`; connects at the first call, and again when another server has taken over."""

    def __init__(
        self,
        bus: Bus,
        service: str,
        timeout: float | None = 5.0,
        *,
        codec: str | codecs.Codec = "msgpack",
        capacity: int | str = "1MiB",
        max_answer: int | str = "256MiB",
        window: int = 16,
        mode: int | None = None,
    ) -> None:
        self.service = names.check_service(service)
        bus._check_text("service", service)
        bus._topic(names.calls_topic(service))
        self._timeout = settings.timeout_s(timeout)
        self._codec = codecs.find(codec)
        self._max_answer = settings.size_bytes("max_answer", max_answer)
        self._window = settings.positive("window", window)
        size = settings.size_bytes("capacity", capacity)
        if size < SMALLEST_REPLY:
            raise BadArgument(f"capacity={size} must be at least {SMALLEST_REPLY}", argument="capacity")
        reply = {"capacity": size, "slots": 1024, **({} if mode is None else {"mode": mode})}
        self._connection = Connection(bus, service, self._codec.name, reply)
        self._origin: Client | None = None
        weakref.finalize(self, self._connection.close)  # also when the program ends

    # One answer

    def call(self, method: str, /, *args: Any, **kwargs: Any) -> Any:
        """The method's answer. RemoteError if it raised, Timeout, PeerGone when there is no server."""
        deadline = self._connection.deadline_of(self._timeout)
        call, inbox = self._begin(method, args, kwargs, deadline, 0)
        try:
            inbox.wait(call, deadline)
            return self._value(call)
        finally:
            self._end(call, inbox)

    async def acall(self, method: str, /, *args: Any, **kwargs: Any) -> Any:
        """`call` for asyncio; cancelling the task cancels the call."""
        deadline = self._connection.deadline_of(self._timeout)
        call, inbox = self._begin(method, args, kwargs, deadline, 0)
        try:
            await inbox.tasks.wait(call, deadline)
            return self._value(call)
        finally:
            self._end(call, inbox)

    # Many

    def stream(self, method: str, /, *args: Any, **kwargs: Any) -> Stream:
        """The parts of an answer as they come: `for part in client.stream(…)`. Each has the time-out."""
        call, inbox = self._begin(
            method, args, kwargs, self._connection.deadline_of(self._timeout), self._window
        )
        return Stream(self, call, inbox)

    def astream(self, method: str, /, *args: Any, **kwargs: Any) -> AsyncStream:
        """`stream` for asyncio: `async for part in client.astream(…)`."""
        call, inbox = self._begin(
            method, args, kwargs, self._connection.deadline_of(self._timeout), self._window
        )
        return AsyncStream(self, call, inbox)

    # Inside

    def _begin(
        self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], deadline: float | None, window: int
    ) -> tuple[Pending, Inbox]:
        if not isinstance(method, str):
            raise TypeError(f"method must be str, not {type(method).__name__}")
        try:
            arguments = self._codec.encode_arguments(args, kwargs)
            if len(method) * 4 > LONGEST_METHOD and len(method.encode()) > LONGEST_METHOD:
                raise BadArgument(f"method has more than {LONGEST_METHOD} bytes", argument="method")
        except (OverflowError, UnicodeEncodeError) as error:
            raise BadArgument(f"the arguments cannot be encoded: {error}", argument="arguments") from error
        connection = self._connection
        hello, inbox = connection.ready()
        call = Pending(next(connection.numbers), hello.instance, method, self._max_answer, window)
        until_ns = deadline_ns(deadline)
        request = Call(hello.instance, until_ns, self._max_answer, window, method, arguments, _trail())
        body = encoding.call(call.req_id, request)
        inbox.add(call)
        try:
            connection.send(body, deadline, hello.instance)
        except BaseException:
            inbox.discard(call)
            raise
        return call, inbox

    def _value(self, call: Pending) -> Any:
        if call.error is not None:
            raise call.error
        return self._decode(call.values.popleft())

    def _decode(self, value: bytes | memoryview) -> Any:
        try:
            return self._codec.decode_value(memoryview(value))
        except ImportError:
            raise  # of an extra that is missing here
        except Exception as error:
            raise Corrupt(f"the answer is no {self._codec.name}: {error}") from error

    def _end(self, call: Pending, inbox: Inbox) -> None:
        """Forget the call; if it was not answered, the server is told."""
        inbox.discard(call)
        if not call.ended:
            call.ended = True
            self._connection.send_if_room(encoding.cancel(call.req_id))

    # Around it

    def within(self, timeout: float | None) -> Client:
        """The same client with another time-out, for `client.within(0.1).call(…)`."""
        other = object.__new__(Client)
        other.__dict__.update(self.__dict__)
        other._timeout = settings.timeout_s(timeout)
        other._origin = self  # whose end would close the connection
        return other

    def wait_for_server(self, timeout: float | None = None) -> bool:
        """Wait until the service has a server; False on expiry."""
        seconds, ground = settings.timeout_s(timeout), self._connection.ground
        deadline = self._connection.deadline_of(seconds)
        while True:
            try:
                self._connection.ready()
                return True
            except PeerGone:
                left = None if deadline is None else deadline - ground.clock.monotonic()
                if left is not None and left <= 0:
                    return False
            ground.await_server(self.service, left)

    @property
    def timeout(self) -> float | None:
        return self._timeout

    @property
    def closed(self) -> bool:
        return self._connection.closed

    def stats(self) -> dict[str, Any]:
        """The client's id, and what it had to drop: late answers, and messages that were none."""
        inbox = self._connection.inbox
        return {
            "service": self.service,
            "client": self._connection.client_id,
            "late": inbox.dropped if inbox else 0,
            "malformed": inbox.malformed if inbox else 0,
        }

    def close(self) -> None:
        """End all calls with Closed and remove the reply topic."""
        self._connection.close()

    def __repr__(self) -> str:
        return f"<Client of {self.service!r}{' closed' if self.closed else ''}>"


def _trail() -> tuple[int, ...]:
    """The servers that wait for what we are about to call, when we are inside one of their methods."""
    job = current_job()
    if job is None:
        return ()
    if len(job.trail) >= MAX_TRAIL:
        raise Full(f"calls are nested deeper than {MAX_TRAIL} servers", argument="method")
    return (*job.trail, job.instance)


Client.__module__ = "slipring"
