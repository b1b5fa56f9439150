# SPDX-License-Identifier: Apache-2.0
"""Async methods: tasks on one event loop, the server's own or the one that awaits `serve()`."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

from . import encoding
from .codecs import Codec
from .context import CURRENT
from .failures import describe
from .ground import Ground, Started
from .handling import Method, Refused, answer, invoke, refuse
from .job import Job
from .streaming import Rest, Streaming


class Looping:
    def __init__(self, ground: Ground, codec: Codec, keep: Callable[[Job], None]) -> None:
        self._ground, self._codec, self._keep = ground, codec, keep
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Started | None = None  # of a loop of our own
        self._ident = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock = threading.Lock()
        self.running = 0

    def use(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def submit(self, job: Job, method: Method) -> None:
        with self._lock:
            if self._loop is None:
                self._loop = self._ground.new_loop()
                self._thread = self._ground.start(self._run, "slipring-methods")
            self.running += 1
        self._loop.call_soon_threadsafe(self._begin, job, method)

    def _run(self) -> None:
        assert self._loop is not None
        self._ident = threading.get_ident()
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def _begin(self, job: Job, method: Method) -> None:
        task = asyncio.get_running_loop().create_task(self._handle(job, method))
        job.task = task
        self._tasks.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        with self._lock:
            self.running -= 1

    async def _handle(self, job: Job, method: Method) -> None:
        CURRENT.set(job)
        try:
            outcome = invoke(method, job, self._codec)
            CURRENT.set(job)
            if method.streams:
                await self._stream(job, outcome)
                return
            sent = answer(job, self._codec, await outcome)
        except Refused as refused:
            sent = refuse(job, refused.error)
        except asyncio.CancelledError as error:
            sent = refuse(job, describe(error))  # sent only if it was not the caller who cancelled
        except BaseException as error:  # noqa: BLE001 - whatever a method raises belongs to its caller
            sent = refuse(job, job.caller.failures.report(job, error))
        if not sent:
            self._keep(job)

    async def _stream(self, job: Job, values: AsyncIterator[Any]) -> None:
        streaming = AsyncStreaming(job, self._codec)
        job.streaming = streaming
        try:
            while (rest := streaming.flush()) is not Rest.DONE:
                if rest is Rest.CREDIT:
                    await streaming.credited.wait()
                    streaming.credited.clear()
                elif rest is Rest.ROOM:
                    await self._ground.room(job.caller, streaming.next or b"")
                else:
                    await self._load(streaming, job, values)
        finally:
            job.caller.open.pop(job.req_id, None)
            await values.aclose()  # type: ignore[attr-defined]

    async def _load(self, streaming: Streaming, job: Job, values: AsyncIterator[Any]) -> None:
        try:
            streaming.set_value(self._codec.encode_value(await anext(values)))
        except StopAsyncIteration:
            streaming.finish(encoding.end(job.req_id))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a method raises belongs to its caller
            streaming.finish(encoding.error(job.req_id, job.caller.failures.report(job, error)))

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


class AsyncStreaming(Streaming):
    """Resting means awaiting: credit sets an event of the loop."""

    def __init__(self, job: Job, codec: Codec) -> None:
        super().__init__(job, codec, None)
        self.credited = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def grant(self, messages: int) -> bool:
        if super().grant(messages):
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self.credited.set)
        return False
