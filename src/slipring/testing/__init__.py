# SPDX-License-Identifier: Apache-2.0
"""Deterministic tests of code that uses a bus. A map:

SteppedBus       a bus with the API of `slipring.Bus` in one process: virtual time, explicit steps, faults
Delivery         the result of a step
Task             the result of `bus.spawn`
VirtualClock     `bus.clock`
Deadlock, WrongThread, Killed    the errors that only a stepped bus raises
slipring.testing.fixtures        `stepped_bus` and `bus` for pytest

The rooms, from the bottom up:

schedule    virtual time, the choice of what runs next, an event loop
ring        a topic without shared memory: messages, subscribers' positions and counts, cursors, settings
simulation  one bus: its topics and cells, deliveries, time, trace
ports       publisher, subscriber, member, pattern subscriber
cells, frames, calls    the same for the other three kinds of communication
faults      messages lost, subscribers lapped, handles killed
bus         SteppedBus
"""

from __future__ import annotations

from .bus import SteppedBus
from .errors import Deadlock, Killed, WrongThread
from .schedule.clock import VirtualClock
from .schedule.scheduler import Task
from .simulation import Delivery

__all__ = [
    "Deadlock",
    "Delivery",
    "Killed",
    "SteppedBus",
    "Task",
    "VirtualClock",
    "WrongThread",
]
