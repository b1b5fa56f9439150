# SPDX-License-Identifier: Apache-2.0
"""Client: calls the methods of a service. One object serves any number of threads and tasks."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument, Corrupt, PeerGone

from ... import settings
from ...closing import Closing
from .. import codecs
from ..protocol import MAX_METHOD, SMALLEST_REPLY_TOPIC, calls_topic, check_service
from .client_stream import AsyncStream, Stream
from .connection import Connection

if TYPE_CHECKING:
    from ..runtime import TopicBus
    from .replies import PendingCall


class Client(Closing):
    """Made by `Bus.client`; connects at the first call, and again when another server has taken over."""

    def __init__(
        self,
        bus: TopicBus,
        service: str,
        timeout: float | None = 5.0,
        *,
        codec: str | codecs.Codec = "msgpack",
        capacity: int | str = "1MiB",
        max_answer: int | str = "256MiB",
        window: int = 16,
        mode: int | None = None,
    ) -> None:
        self.service = check_service(service)
        settings.check_text("service", service)
        bus._topic(calls_topic(service))
        self._timeout = settings.timeout_s(timeout)
        self._codec = codecs.find(codec)
        self._max_answer = settings.size_bytes("max_answer", max_answer)
        self._window = settings.positive("window", window)
        size = settings.size_bytes("capacity", capacity)
        if size < SMALLEST_REPLY_TOPIC:
            raise BadArgument(f"capacity={size} must be at least {SMALLEST_REPLY_TOPIC}", argument="capacity")
        reply = {"capacity": size, "slots": 1024, **({} if mode is None else {"mode": mode})}
        self._connection = Connection(bus, service, self._codec.name, reply)
        self._clock = self._connection.runtime.clock
        self._origin: Client | None = None
        weakref.finalize(self, self._connection.close)  # also when the program ends

    # One answer

    def call(self, method: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call a method and return its answer. RemoteError if it raised, Timeout, PeerGone without a server."""
        deadline = self._deadline()
        call = self._begin(method, args, kwargs, deadline, 0)
        try:
            call.replies.wait(call, deadline)
            return self._value(call)
        finally:
            if not call.ended:
                call.replies.give_up(call)

    async def acall(self, method: str, /, *args: Any, **kwargs: Any) -> Any:
        """`call` for asyncio; cancelling the task cancels the call."""
        deadline = self._deadline()
        call = self._begin(method, args, kwargs, deadline, 0)
        try:
            await call.replies.wait_in_task(call, deadline)
            return self._value(call)
        finally:
            if not call.ended:
                call.replies.give_up(call)

    # Many

    def stream(self, method: str, /, *args: Any, **kwargs: Any) -> Stream:
        """Return the parts of an answer as they arrive: `for part in client.stream(…)`. Each has the time-out."""
        return Stream(self, self._begin(method, args, kwargs, self._deadline(), self._window))

    def astream(self, method: str, /, *args: Any, **kwargs: Any) -> AsyncStream:
        """`stream` for asyncio: `async for part in client.astream(…)`."""
        return AsyncStream(self, self._begin(method, args, kwargs, self._deadline(), self._window))

    # Inside

    def _deadline(self) -> float | None:
        return None if self._timeout is None else self._clock.monotonic() + self._timeout

    def _begin(
        self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], deadline: float | None, window: int
    ) -> PendingCall:
        if not isinstance(method, str):
            raise TypeError(f"method must be str, not {type(method).__name__}")
        try:
            arguments = self._codec.encode_arguments(args, kwargs)
            if len(method) * 4 > MAX_METHOD and (size := len(method.encode())) > MAX_METHOD:
                raise BadArgument(f"method has {size} bytes, at most {MAX_METHOD}", argument="method")
        except (OverflowError, UnicodeEncodeError) as error:
            raise BadArgument(f"the arguments cannot be encoded: {error}", argument="arguments") from error
        return self._connection.request(method, arguments, deadline, self._max_answer, window)

    def _value(self, call: PendingCall) -> Any:
        if call.error is not None:
            raise call.error
        return self._decode(call.values.popleft())

    def _decode(self, value: bytes | memoryview) -> Any:
        try:
            return self._codec.decode_value(memoryview(value))
        except ImportError:
            raise  # of an extra that is missing here
        except Exception as error:
            raise Corrupt(f"the answer is not valid {self._codec.name}: {error}") from error

    # Around it

    def within(self, timeout: float | None) -> Client:
        """Return the same client with another time-out, for `client.within(0.1).call(…)`."""
        other = object.__new__(Client)
        other.__dict__.update(self.__dict__)
        other._timeout = settings.timeout_s(timeout)
        other._origin = self  # its end would close the connection
        return other

    def wait_for_server(self, timeout: float | None = None) -> bool:
        """Wait until the service has a server; return False after timeout."""
        seconds = settings.timeout_s(timeout)
        deadline = None if seconds is None else self._clock.monotonic() + seconds
        while True:
            try:
                self._connection.ready()
                return True
            except PeerGone:
                left = None if deadline is None else deadline - self._clock.monotonic()
                if left is not None and left <= 0:
                    return False
            self._connection.runtime.await_server(self.service, left)

    @property
    def timeout(self) -> float | None:
        return self._timeout

    @property
    def closed(self) -> bool:
        return self._connection.closed

    def stats(self) -> dict[str, Any]:
        """Return the client's id, and the numbers of late answers and malformed messages that it dropped."""
        replies = self._connection.replies
        return {
            "service": self.service,
            "client": self._connection.client_id,
            "late": replies.dropped if replies else 0,
            "malformed": replies.malformed if replies else 0,
        }

    def close(self) -> None:
        """End all calls with Closed and remove the reply topic."""
        self._connection.close()

    def __repr__(self) -> str:
        return f"<Client of {self.service!r}{' closed' if self.closed else ''}>"


Client.__module__ = "slipring"
