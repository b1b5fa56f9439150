# SPDX-License-Identifier: Apache-2.0
"""Functions in threads of their own, of which only one runs at a time: each goes on until it waits for the
bus, and then hands control back. Who goes on next is the scheduler's choice, so that a run can be repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .errors import Stopped

if TYPE_CHECKING:
    from .scheduler import Scheduler, Wait

Result = TypeVar("Result")


class Task(Generic[Result]):
    """Made by `bus.spawn`."""

    def __init__(self, scheduler: Scheduler, name: str, fn: Callable[[], Result]) -> None:
        self.name = name
        self.done = False
        self.wait: Wait | None = None  # what it waits for; None: it has not begun
        self._scheduler = scheduler
        self._fn = fn
        self._value: Result | None = None
        self._error: BaseException | None = None
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=f"slipring-{name}", daemon=True)

    def result(self) -> Result:
        """Its return value; drives the bus until it has one. Raises what it raised."""
        self._scheduler.block(lambda: self.done, None, f"the result of {self.name}")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # set when done without an error

    @property
    def waiting_for(self) -> str:
        """In words; empty if it is done or has not begun."""
        return self.wait.what if self.wait is not None and not self.done else ""

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self._stopped:
                self._value = self._fn()
        except Stopped:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by result()
            self._error = error
        self.done = True
        self._back.release()

    def _resume(self) -> None:
        """By the scheduler: until it waits again or is done."""
        if self._thread.ident is None:
            self._thread.start()
        self._go.release()
        self._back.acquire()
        if self.done:
            self._thread.join()

    def _pause(self, wait: Wait) -> None:
        """By the task: until the scheduler resumes it."""
        self.wait = wait
        self._back.release()
        self._go.acquire()
        if self._stopped:
            raise Stopped

    def _stop(self) -> None:
        self._stopped = True
        if self._thread.ident is not None and not self.done:
            self._resume()
        self.done = True

    def __repr__(self) -> str:
        state = "done" if self.done else self.waiting_for or "not begun"
        return f"<Task {self.name!r}: {state}>"


def call(fn: Callable[..., Result], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Result]:
    return lambda: fn(*args, **kwargs)
