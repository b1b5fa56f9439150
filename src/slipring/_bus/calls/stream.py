# SPDX-License-Identifier: Apache-2.0
"""The parts of an answer, one by one. Credit, given back here, bounds what the server sends ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from ..closing import Closing

if TYPE_CHECKING:
    from .client import Client
    from .inbox import Inbox
    from .pending import Pending


class _Parts:
    def __init__(self, client: Client, call: Pending, inbox: Inbox) -> None:
        self._client, self._call, self._inbox = client, call, inbox

    def _deadline(self) -> float | None:
        return self._client._connection.deadline_of(self._client._timeout)

    def _take(self) -> Any:
        """The next value that is there; StopIteration at the end."""
        call = self._call
        if call.values:
            value = call.values.popleft()
            call.taken += 1
            if call.owed:
                self._inbox.pay(call)
            return self._client._decode(value)
        self.close()
        if call.error is not None:
            error, call.error = call.error, None
            raise error
        raise StopIteration

    def close(self) -> None:
        """Enough: the server is told to stop."""
        self._client._end(self._call, self._inbox)


class Stream(_Parts, Closing):
    """`for part in stream`; leaving early or `close()` ends it at the server too."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            deadline = self._deadline()
            while not self._call.ready:
                self._inbox.wait(self._call, deadline)
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
            await self._inbox.tasks.wait(self._call, self._deadline())
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
