# SPDX-License-Identifier: Apache-2.0
"""Deterministic tests of code that uses a bus. A map:

SteppedBus       a bus with the API of `slipring.Bus` in one process: virtual time, explicit steps, faults
Delivery         what a step did
Task             what `bus.spawn` returns
VirtualClock     `bus.clock`
Deadlock, WrongThread, Killed    what only a stepped bus can tell
slipring.testing.fixtures        `stepped_bus` and `bus` for pytest

The files, from the bottom up: ring (which messages are kept), reader (a subscriber's place and account),
cursors, topic (who takes part), world (deliveries, time, trace), scheduler and tasks (who goes on next),
handle, publisher, attachment and subscriber, loan, view, member; cells, cells_ends, cells_store; announcement,
frame_pool, frame_writer, frame_source, frame_reader, frame_store; calls_workers, calls_replies, calls_runtime; aio,
inventory (what is on the bus), faults, driven (what a test does), bus.
"""

from __future__ import annotations

from .bus import SteppedBus
from .clock import VirtualClock
from .errors import Deadlock, Killed, WrongThread
from .tasks import Task
from .world import Delivery

__all__ = [
    "Deadlock",
    "Delivery",
    "Killed",
    "SteppedBus",
    "Task",
    "VirtualClock",
    "WrongThread",
]
