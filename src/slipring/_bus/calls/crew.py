# SPDX-License-Identifier: Apache-2.0
"""The threads of a server. One has the lead: it receives, and runs what it received itself, which is the
fastest way to an answer. Another stands by: while something runs it looks every millisecond, and when the
leader has been at the same call since the last look, it takes over the lead. So short methods are never
handed from thread to thread, and long ones hold up nobody: requests, cancellations, credit are always read.

`limit` methods run at once; what comes then waits in `ready`, except calls nested inside one that is running:
its worker waits for them, so they run beyond the limit. A free thread is always there, started when the last
one goes to work; surplus ones end. When nothing is going on, all sleep.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from .job import Job

_TICK_S = 0.001
_QUIET_TICKS = 30  # without any call, then the one standing by sleeps
_SURPLUS_S = 1.0
_FREE_THREADS = 2  # one leads, one stands by


class Crew:
    def __init__(
        self,
        name: str,
        limit: int,
        receive: Callable[[], Job | None],
        run: Callable[[Job], None],
        pressed: Callable[[], bool],
        ring: Callable[[], None],
    ) -> None:
        self._name, self._limit = name, limit
        self._receive, self._run, self._pressed, self._ring = receive, run, pressed, ring
        self._lead = threading.Lock()
        self._mutex = threading.Lock()
        self._changed = threading.Condition(self._mutex)
        self._ready: deque[Job] = deque()
        self._threads: set[threading.Thread] = set()
        self._started = 0  # jobs so far
        self._ticking = self._asleep = self._hurry = False
        self.running = 0
        self.closing = False

    @property
    def waiting(self) -> int:
        return len(self._ready)

    @property
    def has_work(self) -> bool:
        return bool(self._ready) and self.running < self._limit

    def start(self) -> None:
        with self._changed:
            self._spawn()
            self._spawn()

    def _spawn(self) -> None:
        thread = threading.Thread(target=self._loop, name=f"slipring-{self._name}", daemon=True)
        self._threads.add(thread)
        thread.start()

    def admit(self, at_once: bool) -> bool:
        """Whether the thread that asks may run a new job now (which counts it); else it is to be `put`."""
        with self._mutex:
            if at_once or (self.running < self._limit and not self._ready):
                self.running += 1
                return True
            return False

    def put(self, job: Job) -> None:
        self._ready.append(job)
        self._ring()
        if self._asleep or self._hurry is False:
            with self._changed:
                self._hurry = True
                self._changed.notify()

    def _next(self) -> Job | None:
        if not self._ready:
            return None
        with self._mutex:
            if not self._ready or self.running >= self._limit:
                return None
            self.running += 1
            return self._ready.popleft()

    def _loop(self) -> None:
        try:
            while not self.closing:
                job = self._next()
                if job is None:
                    if self._lead.acquire(blocking=False):
                        try:
                            job = self._receive()
                        finally:
                            self._lead.release()
                    elif not self._stand_by():
                        return
                if job is not None:
                    self._work(job)
        finally:
            with self._changed:
                self._threads.discard(threading.current_thread())
                self._changed.notify_all()

    def _work(self, job: Job) -> None:
        unwatched = self._asleep or not self._ticking or len(self._threads) <= self.running
        if unwatched or (self._limit > 1 and self._pressed()):
            self._call_help()
        try:
            self._run(job)
        finally:
            with self._mutex:
                self.running -= 1
                self._started += 1

    def _call_help(self) -> None:
        with self._changed:
            if self.closing:
                return
            if len(self._threads) <= self.running:
                self._spawn()
            self._hurry = self._hurry or (self.running < self._limit and self._pressed())
            self._changed.notify_all()

    def _stand_by(self) -> bool:
        """Until there may be something to do; False if one thread less will do."""
        with self._changed:
            if self._ticking:
                woken = self._changed.wait(_SURPLUS_S)
                return woken or len(self._threads) - self.running <= _FREE_THREADS
            self._ticking = True
            try:
                self._tick()
            finally:
                self._ticking = self._hurry = False
                self._changed.notify()  # somebody else watches now
            return True

    def _tick(self) -> None:
        """Holding the condition's lock."""
        quiet, started = 0, self._started
        while not self.closing and not self._hurry:
            if quiet > _QUIET_TICKS:
                self._asleep = True
                self._changed.wait()
                self._asleep, quiet = False, 0
            else:
                self._changed.wait(_TICK_S)
            idle = self.running == 0
            if not self._lead.locked() and (idle or started == self._started):
                return
            quiet = quiet + 1 if idle and started == self._started else 0
            started = self._started

    def stop(self, grace_s: float) -> None:
        """No more jobs are taken; waits for those running, at most grace_s, and for the other threads."""
        with self._changed:
            self.closing = True
            self._changed.notify_all()
        self._ring()
        me = threading.current_thread()
        with self._changed:
            self._changed.wait_for(lambda: not self._threads - {me}, grace_s)
        idle = [thread for thread in list(self._threads - {me})]
        with self._changed:
            self._changed.wait_for(lambda: len(self._threads - {me}) <= self.running, 1.0 if idle else 0)

    def drain(self) -> list[Job]:
        jobs = []
        while self._ready:
            jobs.append(self._ready.popleft())
        return jobs
