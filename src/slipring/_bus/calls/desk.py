# SPDX-License-Identifier: Apache-2.0
"""Requests in: each message of `<service>.calls` becomes a job, a cancellation or credit; what is none of
these is counted and dropped. Also looks after the clients: what was kept for them, and whether they live.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slipring.errors import Closed, SlipringError

from ..logs import log
from . import decoding, encoding
from .callers import MAX_STREAMS, Caller
from .clients import Clients
from .job import Job
from .messages import Call, Cancel, Credit, Error, Reason
from .unsent import Unsent

if TYPE_CHECKING:
    from ..subscriber import Message, Subscriber
    from .ground import Ground

_COUNTERS = ("calls", "errors", "expired", "cancelled", "refused", "malformed", "failures")
MAX_TRAIL = 16
_PAUSE_S = 0.002  # before a topic that failed is opened anew
_TURNS = 64  # messages between two looks around, when there is always one


class Desk:
    def __init__(
        self,
        ground: Ground,
        clients: Clients,
        instance: int,
        open_requests: Callable[[], Subscriber],
        check_seat: Callable[[], None],
    ) -> None:
        self._ground, self.clients, self._instance = ground, clients, instance
        self._open, self._check_seat = open_requests, check_seat
        self._requests = open_requests()
        self.counters = dict.fromkeys(_COUNTERS, 0)
        self._bell = ground.bell()
        self.ring = self._bell.ring
        self.unsent = Unsent(self.ring, ground.retries_s)
        self._looked = ground.clock.monotonic()
        self._turns = 0
        self.admit: Callable[[Job], bool] = lambda job: False  # True: run it now
        self.resume: Callable[[Job], None] = lambda job: None
        self.has_work: Callable[[], bool] = lambda: False
        self.lost: Callable[[SlipringError], None] = lambda error: None  # there is nothing to serve any more

    def pressed(self) -> bool:
        """Whether more requests wait."""
        with contextlib.suppress(SlipringError):
            return self._requests._ready()
        return False

    # For the leader

    def receive(self) -> Job | None:
        """Wait for one message; a job if it is to be run here and now."""
        try:
            message = self._requests.recv(0)
            if message is None:
                message = self._wait()
        except Closed:
            return None
        except SlipringError as error:
            self._open_anew(error)
            return None
        self._turns += 1
        if message is None or self._turns % _TURNS == 0:
            self._look_around()
        return None if message is None else self.accept(message)

    def _open_anew(self, error: SlipringError) -> None:
        """The topic was removed or damaged under us; if the seat was, too, nobody can find us any more."""
        self.counters["failures"] += 1
        log("calls", "warning", "the request topic failed and is opened again: %s", error)
        if not self._has_seat():
            return
        self._ground.clock.sleep(_PAUSE_S)
        with contextlib.suppress(SlipringError):
            requests = self._open()
            self._requests.close()
            self._requests = requests

    def _has_seat(self) -> bool:
        try:
            self._check_seat()
        except SlipringError as error:
            # defect server_outlives_its_bus: return True
            self.lost(error)
            return False
        return True

    def _wait(self) -> Message | None:
        rings = self._bell.rings()
        if self.has_work():
            return None
        timeout = self.unsent.patience if self.unsent else self._ground.look_every_s
        self._ground.await_requests(self._requests, self._bell, rings, timeout, self._has_changed)
        return self._requests.recv(0)

    def _has_changed(self) -> bool:
        """Whether looking around would find something."""
        try:
            self._check_seat()
        except SlipringError:
            return True
        # defect stepped_dead_client_unnoticed: return self.unsent.can_go_on(self._ground.has_room)
        return not self.clients.all_live() or self.unsent.can_go_on(self._ground.has_room)

    def _look_around(self) -> None:
        now = self._ground.clock.monotonic()
        if self.unsent and self.unsent.due(now) and self.unsent.can_go_on(self._ground.has_room):
            for job in self.unsent.retry(now, sum(caller.sent for caller in self.clients.by_id.values())):
                self.resume(job)
        if now - self._looked >= self._ground.look_every_s and self._has_seat():
            self._look_after_clients()

    def accept(self, message: Message) -> Job | None:
        caller = self.clients.by_id.get(message.sender) or self.clients.meet(message.sender)
        if caller is None:
            self.counters["malformed"] += 1
            return None
        try:
            req_id, payload = decoding.decode(message.body)  # type: ignore[arg-type]
        except decoding.Malformed:
            self.counters["malformed"] += 1
            return None
        if type(payload) is Call:
            return self._take(caller, req_id, payload)
        job = caller.open.get(req_id)
        if isinstance(payload, Cancel):
            if job is not None:
                self.cancel(job)
        elif isinstance(payload, Credit):
            if job is not None and job.streaming is not None and job.streaming.grant(payload.messages):
                self.resume(job)
        else:
            self.counters["malformed"] += 1
        return None

    def _take(self, caller: Caller, req_id: int, call: Call) -> Job | None:
        job = Job(caller, req_id, call, self._instance)
        # defect call_of_earlier_server_runs: if call.server == 0:
        if call.server != self._instance:
            self.refuse(job, Reason.GONE)
            return None
        if job.late:
            self.counters["expired"] += 1
            return None
        if req_id in caller.open:
            self.counters["malformed"] += 1
            return None
        if len(call.trail) > MAX_TRAIL:
            self.refuse(job, Reason.FULL, f"calls are nested deeper than {MAX_TRAIL} servers")
            return None
        if call.window and sum(open_job.window > 0 for open_job in caller.open.values()) >= MAX_STREAMS:
            self.refuse(job, Reason.FULL, f"this client has {MAX_STREAMS} streams open")
            return None
        caller.open[req_id] = job
        return job if self.admit(job) else None

    def refuse(self, job: Job, reason: Reason, message: str = "") -> None:
        """An error instead of an answer."""
        if not job.caller.finish(job, encoding.error(job.req_id, Error(reason, "", message))):
            self.unsent.keep(job.caller)

    def cancel(self, job: Job) -> None:
        self.counters["cancelled"] += 1
        job.cancel()
        if job.streaming is not None and job.streaming.grant(0):
            self.resume(job)  # it rested; now it ends

    def _look_after_clients(self) -> None:
        self._looked = self._ground.clock.monotonic()
        dead = self.clients.take_dead()
        for job in [job for caller in dead for job in caller.open.values()]:
            self.cancel(job)
        self.clients.bury(dead)

    def refuse_all(self, most: int) -> None:
        """What has no answer, and what is still in the ring."""
        for caller in list(self.clients.by_id.values()):
            for job in list(caller.open.values()):
                self.refuse(job, Reason.GONE)
                job.cancel()
        with contextlib.suppress(SlipringError):
            for _ in range(most):
                message = self._requests.recv(0)
                if message is None:
                    return
                self.accept(message)

    def stats(self) -> dict[str, Any]:
        return {**self.counters, **self.clients.stats()}

    def close(self) -> None:
        self.clients.close()
        self._requests.close()
