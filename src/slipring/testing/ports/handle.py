# SPDX-License-Identifier: Apache-2.0
"""The base of publishers, subscribers and ends of cells on a stepped bus: they can be closed or killed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import ref

from slipring._bus.closing import Closing
from slipring.errors import Closed

from ..errors import Killed

if TYPE_CHECKING:
    from ..simulation import Simulation

NEW, OPEN, CLOSED, KILLED = "new", "open", "closed", "killed"


class InOrder:
    """Weak references in the order of creation, which a set would not keep."""

    def __init__(self) -> None:
        self._made: list[ref[Any]] = []

    def add(self, made: Any, /) -> None:
        self._made = [*(one for one in self._made if one() is not None), ref(made)]

    def __iter__(self) -> Iterator[Any]:
        return iter([found for one in self._made if (found := one()) is not None])


class Handle(Closing):
    """One end of a topic. It belongs to a simulation, and has a number there."""

    kind = "handle"
    topic: str

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._number = simulation.number()
        self._state = NEW
        self._death: str | None = None  # the point at which it is to be killed

    @property
    def closed(self) -> bool:
        return self._state in (CLOSED, KILLED)

    def close(self) -> None:
        """Detach; waits end with Closed."""
        if self._state is OPEN:
            self._end(CLOSED)

    def _begin(self) -> None:
        """Open the handle: it is attached."""
        self._state = OPEN
        self._simulation.note(f"{self.kind} {self.topic} {self._label()}")

    def _end(self, state: str) -> None:
        self._state = state
        self._detach(orderly=state is CLOSED)
        self._simulation.note(f"{'close' if state is CLOSED else 'kill'} {self._label()}")
        self._simulation.changed()

    def _detach(self, *, orderly: bool) -> None:
        raise NotImplementedError

    def _label(self) -> str:
        return f"{self.kind[0]}{self._number}"

    def _check_open(self) -> None:
        self._simulation.scheduler.check_thread()
        if self._state is KILLED:
            raise Killed(f"this {self.kind} was killed by the test")
        if self._state is CLOSED:
            raise Closed(f"this {self.kind} is closed")

    def _pass_point(self, point: str) -> None:
        """Pass a point at which the test may kill the handle."""
        if self._death == point:
            self._end(KILLED)
            raise Killed(f"this {self.kind} was killed by the test when it had {point}")

    def _handles_to_kill(self) -> list[Handle]:
        return [self]

    def __del__(self) -> None:
        if getattr(self, "_state", NEW) is OPEN:
            self.close()
