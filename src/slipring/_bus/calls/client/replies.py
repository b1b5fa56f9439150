# SPDX-License-Identifier: Apache-2.0
"""Replies to their calls: many threads and tasks wait, one of them reads.

The replies of a client arrive on one topic. A thread that waits tries to get the *lead*: the leader reads, feeds each
message to the call it belongs to, and wakes that call's thread. When it has its own answer it gives up the lead and
wakes one of the other threads, the *followers*, which tries to get it. A follower enters the list before it tries,
and a leader gives up the lead before it reads the list, so one of the two always sees the other. A client used by one
thread pays for none of this.

A task of asyncio reads once, and then waits while a thread of ours reads for all tasks. That thread ends when no task
has waited for a while.

The leader checks in ever longer slices whether the server lives. When it does not, the answers that are already in
the topic count, and all other calls to it fail.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from slipring.errors import (
    BadArguments,
    Closed,
    Corrupt,
    Full,
    PeerGone,
    RemoteError,
    SlipringError,
    Timeout,
    TooLarge,
    UnknownMethod,
)

from .. import envelope
from ..protocol import Chunk, End, Error, Part, Payload, Reason, Result

if TYPE_CHECKING:
    import asyncio

    from ...publisher import Publisher
    from ...subscriber import Subscriber
    from ..runtime import Runtime

_FIRST_SLICE_S = 0.001
_LAST_SLICE_S = 0.02
_SPIN_US = 50.0
_TASK_SPIN_S = 0.00003  # that a task may read without giving up its loop
_IDLE_S = 0.05  # a reading thread without waiting tasks ends after this long

Bytes = bytes | memoryview


class PendingCall:
    """One call under way: fed by the reader of the replies, watched by its caller."""

    __slots__ = (
        "_announced", "_chunks", "_gathered", "chunked", "ended", "error", "future", "instance", "max_answer",
        "method", "paid", "replies", "req_id", "taken", "values", "waiter", "window",
    )  # fmt: skip

    def __init__(
        self, replies: Replies, req_id: int, instance: int, method: str, max_answer: int, window: int
    ) -> None:
        self.replies: Final = replies
        self.req_id: Final = req_id
        self.instance: Final = instance
        self.method: Final = method
        self.max_answer: Final = max_answer
        self.window: Final = window  # 0: one answer
        self.values: deque[Bytes] = deque()  # whole values that were not taken yet
        self.error: BaseException | None = None
        self.ended = False  # nothing more will come
        self.chunked = 0  # chunks that the reader has joined to a value
        self.taken = 0  # parts taken by the program
        self.paid = 0  # how many of both were given back as credit
        self.waiter: threading.Lock | None = None  # of a thread that follows
        self.future: asyncio.Future[None] | None = None
        self._chunks: list[Bytes] = []
        self._gathered = 0
        self._announced = 0

    @property
    def ready(self) -> bool:
        return self.ended or bool(self.values)

    def feed(self, payload: Payload) -> None:
        """Take one message of the server with this call's number."""
        if self.ended:
            return
        if type(payload) is Result:
            self._whole(payload.value)
            self.ended = True
        elif isinstance(payload, Chunk):
            self._piece(payload)
        elif isinstance(payload, Part) and self.window:
            self._whole(payload.value)
        elif isinstance(payload, End) and self.window:
            self.ended = True
        elif isinstance(payload, Error):
            self.fail(error_of(payload, self.method))
        else:
            self.fail(Corrupt(f"the server answered with {type(payload).__name__}"))

    def _whole(self, value: Bytes) -> None:
        if self._chunks:
            self._chunks.append(value)
            if self._gathered + len(value) != self._announced:
                self.fail(Corrupt("the pieces of an answer do not add up to its size"))
                return
            value = b"".join(self._chunks)
            self._chunks, self._gathered = [], 0
        if self.max_answer and len(value) > self.max_answer:
            self.fail(self._too_large(len(value)))
        else:
            self.values.append(value)

    def _piece(self, chunk: Chunk) -> None:
        self._announced = chunk.total
        self._gathered += len(chunk.data)
        if self.max_answer and chunk.total > self.max_answer:
            self.fail(self._too_large(chunk.total))
        elif self._gathered > chunk.total:
            self.fail(Corrupt("the pieces of an answer do not add up to its size"))
        else:
            self._chunks.append(chunk.data)
            self.chunked += 1

    def _too_large(self, size: int) -> TooLarge:
        return TooLarge(
            f"the answer has {size} bytes, max_answer is {self.max_answer}: raise it, or use stream()",
            argument="max_answer",
        )

    @property
    def owed(self) -> int:
        """Credit that is worth a message: half a window of it."""
        owed = self.chunked + self.taken - self.paid
        return owed if not self.ended and 2 * owed >= self.window else 0

    def fail(self, error: BaseException) -> None:
        if not self.ended:
            self.error = error
            self._chunks.clear()
            self.ended = True

    def timeout_error(self) -> Timeout:
        return Timeout(f"'{self.method}' was not answered in time", argument="timeout")

    def wake(self) -> None:
        """Let the waiting thread or task check this call again."""
        waiter, future = self.waiter, self.future
        if waiter is not None and waiter.locked():
            with contextlib.suppress(RuntimeError):  # another thread has just woken it
                waiter.release()
        if future is not None:
            with contextlib.suppress(RuntimeError):  # its loop is closed, so nothing waits
                future.get_loop().call_soon_threadsafe(_resolve, future)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def error_of(error: Error, method: str) -> SlipringError:
    """Return the exception for an Error message."""
    _, kind, message, trace = error
    if error.reason == Reason.UNKNOWN_METHOD:
        return UnknownMethod(message or f"the server has no method '{method}'", argument="method")
    if error.reason == Reason.BAD_ARGUMENTS:
        return BadArguments(message or f"'{method}' does not take these arguments", argument="arguments")
    if error.reason == Reason.TOO_LARGE:
        return TooLarge(message or "the answer is larger than max_answer", argument="max_answer")
    if error.reason == Reason.GONE:
        return PeerGone("the server closed before it answered", argument="service")
    if error.reason == Reason.FULL:
        return Full(message or "the server has no room for this call")
    return RemoteError(message, type=kind, traceback=trace)


class Replies:
    """The calls of one connection that wait, and the reply topic that they wait for."""

    def __init__(
        self, runtime: Runtime, replies: Subscriber, requests: Publisher, lives: Callable[[int], bool]
    ) -> None:
        replies.spin_us = _SPIN_US
        self._replies, self._requests = replies, requests
        self._lives = lives  # returns whether the server of an instance lives
        self._calls: dict[int, PendingCall] = {}
        self._followers: dict[int, PendingCall] = {}
        self._lead = threading.Lock()
        self._lock = threading.Lock()
        self._task_reader: threading.Thread | None = None
        self._tasks = 0
        self._tasks_changed = threading.Event()
        self.dead = False  # no more answers arrive here
        self.dropped = 0  # late answers
        self.malformed = 0

    def begin(self, req_id: int, instance: int, method: str, max_answer: int, window: int) -> PendingCall:
        """Register a call, before it is sent."""
        call = self._calls[req_id] = PendingCall(self, req_id, instance, method, max_answer, window)
        return call

    def give_up(self, call: PendingCall) -> None:
        """Forget a call. If it has no answer, the server gets Cancel when there is room."""
        self._calls.pop(call.req_id, None)
        if not call.ended:
            call.ended = True
            self._send(envelope.cancel(call.req_id))

    def _send(self, body: bytes) -> bool:
        """Send a message that may be lost; False when there is no room."""
        try:
            self._requests.send(body, "", 0)
            return True
        except SlipringError:
            return False

    # Threads

    def wait(self, call: PendingCall, deadline: float | None) -> None:
        """Wait until the call has a value or an error; Timeout at the deadline (time.monotonic)."""
        if self._lead.acquire(blocking=False):
            self._lead_until(call, deadline)
            if call.ended or call.values:
                return
        self._follow(call, deadline)

    def _lead_until(self, call: PendingCall, deadline: float | None) -> None:
        """Holding the lead; gives it up."""
        try:
            slice_s = _FIRST_SLICE_S
            while not (call.ended or call.values):
                left = slice_s if deadline is None else deadline - time.monotonic()
                if left <= 0:
                    raise call.timeout_error()
                if not self._read(slice_s if left > slice_s else left):
                    slice_s = min(2 * slice_s, _LAST_SLICE_S)
        finally:
            self._lead.release()
            if self._followers:
                self._pass_on()

    def _follow(self, call: PendingCall, deadline: float | None) -> None:
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
                    raise call.timeout_error()
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

    # Tasks

    async def wait_in_task(self, call: PendingCall, deadline: float | None) -> None:
        """`wait` for asyncio."""
        if not call.ready:
            self._read_once(_TASK_SPIN_S, 0)
        if call.ready:
            return
        import asyncio  # slow to import, and most programs do without

        self._count_tasks(1)
        try:
            while True:
                call.future = asyncio.get_running_loop().create_future()
                if call.ready:
                    return
                left = None if deadline is None else deadline - time.monotonic()
                await asyncio.wait_for(call.future, left)
        except TimeoutError:
            if not call.ready:
                raise call.timeout_error() from None
        finally:
            call.future = None
            self._count_tasks(-1)

    def _count_tasks(self, change: int) -> None:
        with self._lock:
            self._tasks += change
            self._tasks_changed.set()
            if self._task_reader is None and self._tasks:
                reader = threading.Thread(target=self._read_for_tasks, name="slipring-replies", daemon=True)
                self._task_reader = reader
                reader.start()

    def _read_for_tasks(self) -> None:
        slice_s = _FIRST_SLICE_S
        while True:
            with self._lock:
                self._tasks_changed.clear()
                waiting = self._tasks > 0
            if waiting:
                found = self._read_once(slice_s, _LAST_SLICE_S)
                if found is not None:  # else a thread reads, for tasks too
                    slice_s = _FIRST_SLICE_S if found else min(2 * slice_s, _LAST_SLICE_S)
            elif not self._tasks_changed.wait(_IDLE_S):
                with self._lock:
                    if not self._tasks:
                        self._task_reader = None
                        return

    def _read_once(self, timeout_s: float, patience_s: float) -> bool | None:
        """Lead for one message and return whether there was one; None if another thread keeps the lead."""
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
        self._check()
        return False

    def _deliver(self, body: bytes) -> None:
        try:
            req_id, payload = envelope.decode(body)
        except envelope.Malformed:
            self.malformed += 1
            return
        # defect answer_to_any_call: call = next(iter(self._calls.values()), None)
        call = self._calls.get(req_id)
        if call is None:
            self.dropped += 1
            return
        call.feed(payload)
        if call.ended:
            self._calls.pop(req_id, None)
        elif call.window and call.owed:
            self.pay(call)
        if call.waiter is not None or call.future is not None:
            call.wake()

    def _check(self) -> None:
        """Pay credit that found no room, and end the calls of dead servers."""
        calls = list(self._calls.values())
        for call in calls:
            if call.window and call.owed:
                self.pay(call)
        gone = {call.instance for call in calls if not self._lives(call.instance)}
        if not gone:
            return
        with contextlib.suppress(SlipringError):
            while (message := self._replies.recv(0)) is not None:
                self._deliver(message.body)  # type: ignore[arg-type]
        for call in list(self._calls.values()):
            if call.instance in gone and not call.ended:
                self._end(call, PeerGone("the server is gone", argument="service"))

    def pay(self, call: PendingCall) -> None:
        """Give back credit for what was taken. A payment without room is tried again."""
        with self._lock:
            owed = call.owed
            if owed and self._send(envelope.credit(call.req_id, owed)):
                call.paid += owed

    def _end(self, call: PendingCall, error: BaseException) -> None:
        self._calls.pop(call.req_id, None)
        call.fail(error)
        call.wake()

    def end_all(self, error: SlipringError) -> None:
        for call in list(self._calls.values()):
            self._end(call, type(error)(str(error), argument=error.argument))
