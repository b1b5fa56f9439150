# SPDX-License-Identifier: Apache-2.0
"""What publishers and subscribers of a stepped bus have in common: they are closed, or killed, and say so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import ref

from slipring._bus.closing import Closing
from slipring.errors import Closed

from .errors import Killed

if TYPE_CHECKING:
    from .world import World

UNBORN, OPEN, CLOSED, KILLED = "unborn", "open", "closed", "killed"


class InOrder:
    """What was made and still lives, in the order it was made: a set would have another on every run."""

    def __init__(self) -> None:
        self._made: list[ref[Any]] = []

    def add(self, made: Any, /) -> None:
        self._made = [*(one for one in self._made if one() is not None), ref(made)]

    def __iter__(self) -> Iterator[Any]:
        return iter([found for one in self._made if (found := one()) is not None])


class Handle(Closing):
    """One end of a topic. It belongs to a world, and has a number there."""

    kind = "handle"
    topic: str

    def __init__(self, world: World) -> None:
        self._world = world
        self._number = world.number()
        self._life = UNBORN
        self._death: str | None = None  # the point at which it is to die

    @property
    def closed(self) -> bool:
        return self._life in (CLOSED, KILLED)

    def close(self) -> None:
        """Detach; waits end with Closed."""
        if self._life is OPEN:
            self._end(CLOSED)

    def _begin(self) -> None:
        """It is attached: from now on there is something to close."""
        self._life = OPEN
        self._world.note(f"{self.kind} {self.topic} {self._label()}")

    def _end(self, life: str) -> None:
        self._life = life
        self._detach(orderly=life is CLOSED)
        self._world.note(f"{'close' if life is CLOSED else 'kill'} {self._label()}")
        self._world.changed()

    def _detach(self, *, orderly: bool) -> None:
        raise NotImplementedError

    def _label(self) -> str:
        return f"{self.kind[0]}{self._number}"

    def _check_life(self) -> None:
        self._world.scheduler.check_thread()
        if self._life is KILLED:
            raise Killed(f"this {self.kind} was killed by the test")
        if self._life is CLOSED:
            raise Closed(f"this {self.kind} is closed")

    def _pass_point(self, point: str) -> None:
        """A place where a process may die."""
        if self._death == point:
            self._end(KILLED)
            raise Killed(f"this {self.kind} was killed by the test when it had {point}")

    def _mortals(self) -> list[Handle]:
        return [self]

    def __del__(self) -> None:
        if getattr(self, "_life", UNBORN) is OPEN:
            self.close()
