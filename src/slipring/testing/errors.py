# SPDX-License-Identifier: Apache-2.0
"""The errors that only a stepped bus raises."""

from __future__ import annotations

from slipring.errors import SlipringError


class Deadlock(SlipringError):
    """Every function waits, no message is in flight and no time-out is running: on a real bus this call would wait
    forever."""


class WrongThread(SlipringError):
    """A thread that the bus does not drive used it: start the thread with `bus.spawn`."""


class Killed(BaseException):
    """A handle was used after `bus.kill`. Not an Exception, because a killed process runs no error handling."""


class Stopped(BaseException):
    """Ends a spawned function that still waits when its bus is closed."""


for _class in (Deadlock, WrongThread, Killed):
    _class.__module__ = "slipring.testing"
