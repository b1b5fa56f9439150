# SPDX-License-Identifier: Apache-2.0
"""Answers to their calls: many threads and tasks wait, one of them reads.

The replies of a client come on one topic. Whoever waits tries to get the *lead*: the leader reads, feeds what
it reads to the calls it belongs to, and wakes those that have got something. When it has its own answer it
gives up the lead and wakes one of the others, the *followers*, who tries for it. A follower enters the list
before it tries, and a leader leaves before it looks at the list, so one of the two always sees the other. A
client used by one thread never meets another and pays for none of this. For tasks of asyncio see awaiting.py.

The leader looks in ever longer slices whether the server lives. When it does not, what it still answered
counts, and all other calls to it fail.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from slipring.errors import Closed, PeerGone, SlipringError

from ..subscriber import Subscriber
from . import decoding, encoding
from .awaiting import Awaiting
from .pending import Pending

_FIRST_SLICE_S = 0.001
_LAST_SLICE_S = 0.02
SPIN_US = 50.0


class Inbox:
    def __init__(
        self, replies: Subscriber, lives: Callable[[int], bool], send: Callable[[bytes], bool]
    ) -> None:
        replies.spin_us = SPIN_US
        self._send = send
        self._replies = replies
        self._lives = lives
        self._calls: dict[int, Pending] = {}
        self._followers: dict[int, Pending] = {}
        self._lead = threading.Lock()
        self._lock = threading.Lock()
        self.tasks = Awaiting(self.read_once)
        self.dead = False  # no more answers will come here
        self.dropped = 0  # late answers
        self.malformed = 0

    def add(self, call: Pending) -> None:
        self._calls[call.req_id] = call

    def discard(self, call: Pending) -> None:
        self._calls.pop(call.req_id, None)

    # Threads

    def wait(self, call: Pending, deadline: float | None) -> None:
        """Until the call has something; Timeout at the deadline (time.monotonic)."""
        if self._lead.acquire(blocking=False):
            self._lead_until(call, deadline)
            if call.ready:
                return
        self._follow(call, deadline)

    def _lead_until(self, call: Pending, deadline: float | None) -> None:
        """Holding the lead; gives it up."""
        try:
            slice_s = _FIRST_SLICE_S
            while not call.ready:
                left = slice_s if deadline is None else deadline - time.monotonic()
                if left <= 0:
                    raise call.late()
                if not self._read(slice_s if left > slice_s else left):
                    slice_s = min(2 * slice_s, _LAST_SLICE_S)
        finally:
            self._lead.release()
            if self._followers:
                self._pass_on()

    def _follow(self, call: Pending, deadline: float | None) -> None:
        call.waiter = threading.Lock()
        call.waiter.acquire()
        self._followers[call.req_id] = call
        try:
            while not call.ready:
                if self._lead.acquire(blocking=False):
                    self._lead_until(call, deadline)
                    continue
                left = -1.0 if deadline is None else max(0.0, deadline - time.monotonic())
                if not call.waiter.acquire(timeout=left) and not call.ready:
                    raise call.late()
        finally:
            self._followers.pop(call.req_id, None)
            call.waiter = None
            if self._followers and not self._lead.locked():
                self._pass_on()  # we may have been woken to lead

    def _pass_on(self) -> None:
        for follower in list(self._followers.values()):
            if not follower.ready:
                follower.wake()
                return

    def read_once(self, timeout_s: float, patience_s: float) -> bool | None:
        """Lead for one message: whether there was one; None if somebody else leads all the time."""
        if not self._lead.acquire(timeout=patience_s):
            return None
        try:
            return self._read(timeout_s)
        finally:
            self._lead.release()
            self._pass_on()

    # Reading, for the leader

    def _read(self, timeout_s: float) -> bool:
        """Take one message, waiting for it; False if there was none."""
        try:
            message = self._replies.recv(timeout_s)
        except SlipringError as error:  # closed, removed, damaged: no more answers here
            self.dead = True
            self.end_all(error if isinstance(error, Closed) else PeerGone(str(error), argument="service"))
            return False
        if message is not None:
            self._deliver(message.body)  # type: ignore[arg-type]
            return True
        self._look_around()
        return False

    def _deliver(self, body: bytes) -> None:
        try:
            req_id, payload = decoding.decode(body)
        except decoding.Malformed:
            self.malformed += 1
            return
        # defect answer_to_any_call: call = next(iter(self._calls.values()), None)
        call = self._calls.get(req_id)
        if call is None:
            self.dropped += 1
            return
        call.feed(payload)
        if call.window and call.owed:
            self.pay(call)
        if call.waiter is not None or call.future is not None:
            call.wake()

    def _look_around(self) -> None:
        for call in list(self._calls.values()):
            if call.window and call.owed:
                self.pay(call)
        gone = {call.instance for call in list(self._calls.values()) if not self._lives(call.instance)}
        if not gone:
            return
        with contextlib.suppress(SlipringError):
            while (message := self._replies.recv(0)) is not None:
                self._deliver(message.body)  # type: ignore[arg-type]
        for call in list(self._calls.values()):
            if call.instance in gone and not call.ended:
                self.end(call, PeerGone("the server is gone", argument="service"))

    def pay(self, call: Pending) -> None:
        """Give back credit for what is out of the way. What finds no room is tried again."""
        with self._lock:
            owed = call.owed
            if owed and self._send(encoding.credit(call.req_id, owed)):
                call.paid += owed

    def end(self, call: Pending, error: BaseException) -> None:
        call.fail(error)
        call.wake()

    def end_all(self, error: SlipringError) -> None:
        for call in list(self._calls.values()):
            self.end(call, type(error)(str(error), argument=error.argument))
