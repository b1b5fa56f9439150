# SPDX-License-Identifier: Apache-2.0
"""The worker threads of a server on a stepped bus. One spawned function receives. Each call that may run is a spawned
function of its own, so that methods can wait, and the seed chooses which one continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipring._bus.calls.server.method_call import MethodCall
from slipring._bus.calls.server.worker_threads import WorkerThreads

if TYPE_CHECKING:
    from ..simulation import Simulation


class SteppedWorkers(WorkerThreads):
    def __init__(self, simulation: Simulation, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._scheduler = simulation.scheduler

    def start(self) -> None:
        self._scheduler.spawn(self._serve, (), {})

    def _serve(self) -> None:
        while not self.closing:
            call = self._next() or self._work.receive()
            if call is not None:
                self._scheduler.spawn(self._answer, (call,), {})

    def _answer(self, call: MethodCall) -> None:
        try:
            self._work.run(call)
        finally:
            self.running -= 1
            self._work.ring()  # another call may run

    def put(self, call: MethodCall) -> None:
        self._ready.append(call)
        self._work.ring()

    def stop(self, grace_s: float) -> None:
        """Take no more calls; those running have grace_s to end."""
        self.closing = True
        self._work.ring()
        if grace_s:
            self._scheduler.block(lambda: self.running == 0, grace_s, f"the end of '{self._name}'")
