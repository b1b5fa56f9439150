# SPDX-License-Identifier: Apache-2.0
"""The parts of an answer, one by one. The credit given back here bounds what the server sends ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

from ...closing import Closing

if TYPE_CHECKING:
    from .replies import PendingCall


class Caller(Protocol):
    """The part of a Client that its streams use."""

    def _deadline(self) -> float | None: ...
    def _decode(self, value: bytes | memoryview) -> Any: ...


class _Parts:
    def __init__(self, client: Caller, call: PendingCall) -> None:
        self._client, self._call = client, call

    def _take(self) -> Any:
        """Return the next value that is there; StopIteration at the end."""
        call = self._call
        if call.values:
            value = call.values.popleft()
            call.taken += 1
            if call.owed:
                call.replies.pay(call)
            return self._client._decode(value)
        self.close()
        if call.error is not None:
            error, call.error = call.error, None
            raise error
        raise StopIteration

    def close(self) -> None:
        """End the stream; the server stops sending."""
        self._call.replies.give_up(self._call)


class Stream(_Parts, Closing):
    """`for part in stream`; leaving early or `close()` ends it at the server too."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            deadline = self._client._deadline()
            while not self._call.ready:
                self._call.replies.wait(self._call, deadline)
            return self._take()
        except StopIteration:
            raise
        except BaseException:
            self.close()
            raise

    def __del__(self) -> None:
        self.close()


class AsyncStream(_Parts):
    """`async for part in stream`."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            await self._call.replies.wait_in_task(self._call, self._client._deadline())
            return self._take()
        except StopIteration:
            raise StopAsyncIteration from None
        except BaseException:
            self.close()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


for _class in (Stream, AsyncStream):
    _class.__module__ = "slipring"
