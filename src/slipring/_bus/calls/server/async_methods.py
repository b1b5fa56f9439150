# SPDX-License-Identifier: Apache-2.0
"""Async methods: tasks on one event loop, the server's own or the one that awaits `serve()`."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from typing import Any

from .. import envelope
from ..runtime import Runtime, Started
from .method_call import (
    CURRENT,
    Encode,
    Method,
    MethodCall,
    Refused,
    answer,
    describe,
    invoke,
    refuse,
    report,
)
from .server_stream import ServerStream, Stopped


class AsyncMethods:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Started | None = None  # of a loop of our own
        self._ident = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock = threading.Lock()
        self.running = 0

    def use(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def submit(self, call: MethodCall, method: Method) -> None:
        with self._lock:
            if self._loop is None:
                self._loop = self._runtime.new_loop()
                self._thread = self._runtime.start(self._run, "slipring-methods")
            self.running += 1
        self._loop.call_soon_threadsafe(self._begin, call, method)

    def _run(self) -> None:
        assert self._loop is not None
        self._ident = threading.get_ident()
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def _begin(self, call: MethodCall, method: Method) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(call, method))
        call.task = task
        self._tasks.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        with self._lock:
            self.running -= 1

    async def _answer(self, call: MethodCall, method: Method) -> None:
        CURRENT.set(call)
        try:
            outcome = invoke(method, call)
            CURRENT.set(call)
            if method.streams:
                await self._stream(call, outcome, method.encode_part)
            else:
                answer(call, await outcome, method.encode)
        except Refused as refused:
            refuse(call, refused.error)
        except asyncio.CancelledError as error:
            refuse(call, describe(error))  # sent only if it was not the caller who cancelled
        except BaseException as error:  # noqa: BLE001 - anything that a method raises belongs to its caller
            refuse(call, report(call, error))

    async def _stream(self, call: MethodCall, values: AsyncIterator[Any], encode: Encode) -> None:
        stream = call.stream = _AsyncStream(call, encode)
        try:
            while (stopped := stream.flush()) is not Stopped.DONE:
                if stopped is Stopped.CREDIT:
                    await stream.credited.wait()
                    stream.credited.clear()
                elif stopped is Stopped.ROOM:
                    await self._runtime.await_room(stream.may_continue)
                else:
                    await self._load(stream, call, values, encode)
        finally:
            call.caller.open.pop(call.req_id, None)
            await values.aclose()  # type: ignore[attr-defined]

    async def _load(
        self, stream: ServerStream, call: MethodCall, values: AsyncIterator[Any], encode: Encode
    ) -> None:
        try:
            stream.set_value(encode(await anext(values)))
        except StopAsyncIteration:
            stream.finish(envelope.end(call.req_id))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - anything that a method raises belongs to its caller
            stream.finish(envelope.error(call.req_id, report(call, error)))

    def close(self) -> None:
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        try:
            loop.call_soon_threadsafe(self._stop)
        except RuntimeError:
            return  # closed meanwhile
        thread = self._thread
        if thread is not None and self._ident != threading.get_ident():
            thread.join(1.0)

    def _stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        if self._thread is not None:
            assert self._loop is not None
            gathered = asyncio.gather(*self._tasks, return_exceptions=True)
            gathered.add_done_callback(lambda _: self._loop.stop())  # type: ignore[union-attr]


class _AsyncStream(ServerStream):
    """Waits by awaiting: credit sets an event of the loop."""

    def __init__(self, call: MethodCall, encode: Encode) -> None:
        super().__init__(call, None, encode)
        self.credited = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def grant(self, messages: int) -> bool:
        if super().grant(messages):
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self.credited.set)
        return False

    def may_continue(self) -> bool:
        """Whether there is room for the next message, or it is not needed any more."""
        return self._call.caller.gone or self._call.caller.has_room(self._next or b"")
