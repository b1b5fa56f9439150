# SPDX-License-Identifier: Apache-2.0
"""The crew of a server on a stepped bus. One spawned function receives; each call that may run is a spawned function of
its own, so that methods can wait, and the seed chooses who goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipring._bus.calls.crew import Crew
from slipring._bus.calls.job import Job

if TYPE_CHECKING:
    from .world import World


class SteppedCrew(Crew):
    def __init__(self, world: World, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._scheduler = world.scheduler

    def start(self) -> None:
        self._scheduler.spawn(self._serve, (), {})

    def _serve(self) -> None:
        while not self.closing:
            job = self._next() or self._receive()
            if job is not None:
                self._scheduler.spawn(self._answer, (job,), {})

    def _answer(self, job: Job) -> None:
        try:
            self._run(job)
        finally:
            self.running -= 1
            self._ring()  # somebody else may run

    def put(self, job: Job) -> None:
        self._ready.append(job)
        self._ring()

    def stop(self, grace_s: float) -> None:
        """No more jobs are taken; those running have grace_s to end."""
        self.closing = True
        self._ring()
        if grace_s:
            self._scheduler.block(lambda: self.running == 0, grace_s, f"the end of '{self._name}'")
