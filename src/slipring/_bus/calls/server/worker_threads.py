# SPDX-License-Identifier: Apache-2.0
"""The threads of a server. One has the lead: it receives, and runs what it received itself, which is the fastest way
to an answer. It gives up the lead before it runs a call. Another thread stands by and checks every millisecond. If no
call has ended since its last check, it takes the free lead. So short methods are never handed from thread to thread,
and long ones delay nothing: requests, cancellations and credit are always read.

`limit` methods run at once; later calls wait in `_ready` and begin in the order in which they were received. A call
nested inside one that is running does not wait there: its worker waits for it, so it runs beyond the limit. A free
thread is always there, started when the last one begins to run a call; surplus threads end. When nothing is going on,
all sleep.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..runtime import Runtime
    from .method_call import MethodCall

_TICK_S = 0.001
_QUIET_TICKS = 30  # without any call, then the thread that stands by sleeps
_SURPLUS_S = 1.0
_FREE_THREADS = 2  # one leads, one stands by


class Work(Protocol):
    """The work of the threads: dispatcher.Dispatcher."""

    def receive(self) -> MethodCall | None: ...
    def run(self, call: MethodCall) -> None: ...
    def has_requests(self) -> bool: ...
    def ring(self) -> None: ...


class WorkerThreads:
    def __init__(self, runtime: Runtime, name: str, limit: int, work: Work) -> None:
        self._name, self._limit, self._work = name, limit, work
        self._lead = threading.Lock()
        self._mutex = threading.Lock()
        self._changed = threading.Condition(self._mutex)
        self._ready: deque[MethodCall] = deque()
        self._threads: set[threading.Thread] = set()
        self._finished = 0  # calls so far
        self._ticking = self._asleep = False
        self._help_needed = False  # the thread that stands by is to join in now, not at its next check
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

    def try_begin(self, at_once: bool) -> bool:
        """Count a new call as running if this thread may run it now; else return False: the call is to be `put`."""
        with self._mutex:
            if at_once or (self.running < self._limit and not self._ready):
                self.running += 1
                return True
            return False

    def put(self, call: MethodCall) -> None:
        """Let a thread run this call, after those put before it, as soon as the limit allows."""
        self._ready.append(call)
        self._work.ring()
        if self._asleep or not self._help_needed:
            with self._changed:
                self._help_needed = True
                self._changed.notify()

    def _next(self) -> MethodCall | None:
        if not self._ready:
            return None
        with self._mutex:
            if not self._ready or self.running >= self._limit:
                return None
            self.running += 1
            # defect waiting_calls_reversed: return self._ready.pop()
            return self._ready.popleft()

    def _loop(self) -> None:
        try:
            while not self.closing:
                call = self._next()
                if call is None:
                    if self._lead.acquire(blocking=False):
                        try:
                            call = self._work.receive()
                        finally:
                            self._lead.release()
                    elif not self._stand_by():
                        return
                if call is not None:
                    self._run(call)
        finally:
            with self._changed:
                self._threads.discard(threading.current_thread())
                self._changed.notify_all()

    def _run(self, call: MethodCall) -> None:
        unwatched = self._asleep or not self._ticking or len(self._threads) <= self.running
        if unwatched or (self._limit > 1 and self._work.has_requests()):
            self._call_help()
        try:
            self._work.run(call)
        finally:
            with self._mutex:
                self.running -= 1
                self._finished += 1

    def _call_help(self) -> None:
        with self._changed:
            if self.closing:
                return
            if len(self._threads) <= self.running:
                self._spawn()
            self._help_needed = self._help_needed or (
                self.running < self._limit and self._work.has_requests()
            )
            self._changed.notify_all()

    def _stand_by(self) -> bool:
        """Wait until there may be something to do; False if one thread less is enough."""
        with self._changed:
            if self._ticking:
                woken = self._changed.wait(_SURPLUS_S)
                return woken or len(self._threads) - self.running <= _FREE_THREADS
            self._ticking = True
            try:
                self._tick()
            finally:
                self._ticking = self._help_needed = False
                self._changed.notify()  # another thread watches now
            return True

    def _tick(self) -> None:
        """Holding the condition's lock."""
        quiet, finished = 0, self._finished
        while not self.closing and not self._help_needed:
            if quiet > _QUIET_TICKS:
                self._asleep = True
                self._changed.wait()
                self._asleep, quiet = False, 0
            else:
                self._changed.wait(_TICK_S)
            idle = self.running == 0
            if not self._lead.locked() and (idle or finished == self._finished):
                return
            quiet = quiet + 1 if idle and finished == self._finished else 0
            finished = self._finished

    def stop(self, grace_s: float) -> None:
        """Take no more calls; wait for those running, at most grace_s, and for the other threads."""
        with self._changed:
            self.closing = True
            self._changed.notify_all()
        self._work.ring()
        me = threading.current_thread()
        with self._changed:
            self._changed.wait_for(lambda: not self._threads - {me}, grace_s)
        idle = [thread for thread in list(self._threads - {me})]
        with self._changed:
            self._changed.wait_for(lambda: len(self._threads - {me}) <= self.running, 1.0 if idle else 0)
