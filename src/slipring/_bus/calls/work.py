# SPDX-License-Identifier: Apache-2.0
"""From a job to its answer: who runs it, when, and what becomes of its outcome."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, NamedTuple

from .desk import Desk
from .handling import Method, Refused, answer, invoke, refuse
from .job import Job
from .messages import Reason
from .streaming import Rest, Streaming

if TYPE_CHECKING:
    from .codecs import Codec
    from .ground import Ground
    from .looping import Looping

_RING = 4096  # requests that may still be unread at the end


class Limits(NamedTuple):
    workers: int  # plain methods that run at once
    backlog: int  # calls that wait for one of these
    tasks: int  # async methods that run at once


class Work:
    def __init__(self, ground: Ground, service: str, desk: Desk, codec: Codec, limits: Limits) -> None:
        self._ground, self._desk, self._codec, self._limits = ground, desk, codec, limits
        self._looping: Looping | None = None
        self.methods: dict[str, Method] = {}
        self.keeper: object = None  # a started server lives as long as its threads
        self.crew = ground.crew(service, limits.workers, desk.receive, self._run, desk.pressed, desk.ring)
        desk.admit, desk.resume = self._admit, self.crew.put
        desk.has_work = lambda: self.crew.has_work

    def looping(self) -> Looping:
        """For async methods; asyncio is slow to import, and most servers do without."""
        if self._looping is None:
            from .looping import Looping

            self._looping = Looping(self._ground, self._codec, lambda job: self._desk.unsent.keep(job.caller))
        return self._looping

    def stats(self) -> dict[str, Any]:
        tasks = self._looping.running if self._looping else 0
        return {"waiting": self.crew.waiting, "running": self.crew.running + tasks}

    def end(self) -> None:
        """Nobody is left without an answer."""
        self._desk.admit = self._turn_away
        self._desk.refuse_all(most=_RING)
        if self._looping is not None:
            self._looping.close()
        self._desk.close()

    def _turn_away(self, job: Job) -> bool:
        self._desk.refuse(job, Reason.GONE)
        return False

    def _admit(self, job: Job) -> bool:
        """Whether the thread that received it runs it now."""
        self._desk.counters["calls"] += 1
        # defect nested_call_deadlocks: nested = False
        nested = job.instance in job.trail
        method = self.methods.get(job.method)
        if method is None:
            known = ", ".join(sorted(self.methods)[:20]) or "none"
            self._refuse(job, Reason.UNKNOWN_METHOD, f"there is no method '{job.method}': there is {known}")
            return False
        if method.is_async:
            if self.looping().running >= self._limits.tasks:
                self._refuse(job, Reason.FULL, f"{self._limits.tasks} tasks are running")
            else:
                self.looping().submit(job, method)
            return False
        if self.crew.admit(at_once=nested):
            return True
        if self.crew.waiting >= self._limits.backlog:
            self._refuse(job, Reason.FULL, f"{self._limits.backlog} calls are waiting")
        else:
            self.crew.put(job)
        return False

    def _refuse(self, job: Job, reason: Reason, message: str) -> None:
        self._desk.counters["refused"] += 1
        self._desk.refuse(job, reason, message)

    def _run(self, job: Job) -> None:
        if job.streaming is not None:
            self._continue(job, job.streaming)
            return
        if job.hopeless:
            self._desk.counters["expired"] += 1
            job.caller.open.pop(job.req_id, None)
            return
        try:
            value = invoke(self.methods[job.method], job, self._codec)
        except Refused as refused:
            self._desk.counters["errors"] += 1
            sent = refuse(job, refused.error)
        else:
            if type(value) is types.GeneratorType and job.window:
                job.streaming = Streaming(job, self._codec, value)
                self._continue(job, job.streaming)
                return
            sent = answer(job, self._codec, value)
        if not sent:
            self._desk.unsent.keep(job.caller)

    def _continue(self, job: Job, streaming: Streaming) -> None:
        rest = streaming.run()
        if rest is Rest.DONE:
            job.caller.open.pop(job.req_id, None)
        elif rest is Rest.ROOM:
            self._desk.unsent.rest(job)
        elif rest is Rest.TURN:
            self.crew.put(job)
