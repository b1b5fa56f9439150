# SPDX-License-Identifier: Apache-2.0
"""One call on the server's side, from its arrival to its answer."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Final

from .messages import Call

if TYPE_CHECKING:
    import asyncio

    from .callers import Caller
    from .streaming import Streaming


_NO_LOCK = threading.Lock()  # only streams are touched by several threads


class Job:
    """What `slipring.current_call()` tells a method about the call it answers."""

    __slots__ = (
        "_cancelled", "arguments", "caller", "deadline_ns", "instance", "lock", "max_answer", "method",
        "req_id", "streaming", "task", "trail", "window",
    )  # fmt: skip

    def __init__(self, caller: Caller, req_id: int, call: Call, instance: int) -> None:
        self.caller: Final = caller
        self.req_id: Final = req_id
        self.instance: Final = instance
        self.method: Final = call.method
        self.arguments = call.arguments
        self.deadline_ns: Final = call.deadline_ns
        self.max_answer: Final = call.max_answer
        self.window: Final = call.window
        self.trail: Final = call.trail
        self.lock: Final = threading.Lock() if call.window else _NO_LOCK
        self.streaming: Streaming | None = None
        self.task: asyncio.Task[None] | None = None
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the answer any more: given up, expired, or the caller is gone."""
        return self._cancelled or self.caller.gone or self.expired

    @property
    def expired(self) -> bool:
        return self.late and not self.window

    @property
    def hopeless(self) -> bool:
        """Whether it need not be begun."""
        # defect hopeless_call_begins: return False
        return self._cancelled or self.caller.gone or self.late

    @property
    def late(self) -> bool:
        """Whether it is too late to begin."""
        return 0 < self.deadline_ns <= self.caller.clock.monotonic_ns()

    @property
    def remaining(self) -> float | None:
        """Seconds that the caller still waits; None: for ever."""
        return max(0.0, self.deadline_ns / 1e9 - self.caller.clock.monotonic()) if self.deadline_ns else None

    @property
    def client(self) -> str:
        """The id of the client that called."""
        return self.caller.client

    def cancel(self) -> None:
        self._cancelled = True
        task = self.task
        if task is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the task with it
                task.get_loop().call_soon_threadsafe(task.cancel)

    def __repr__(self) -> str:
        return (
            f"<call {self.req_id} of {self.client}: {self.method!r}{' cancelled' if self.cancelled else ''}>"
        )


Job.__module__ = "slipring"
