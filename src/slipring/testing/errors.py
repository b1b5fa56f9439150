# SPDX-License-Identifier: Apache-2.0
"""What only a stepped bus can tell."""

from __future__ import annotations

from slipring.errors import SlipringError


class Deadlock(SlipringError):
    """Everybody waits, nothing is left to be delivered and no time-out is running: on a real bus this call
    would wait for ever.
    """


class WrongThread(SlipringError):
    """The bus was used by a thread that it does not drive: start it with `bus.spawn`."""


class Killed(BaseException):
    """A handle was used after `bus.kill`. Not an Exception: the killed run no error handling either."""


class Stopped(BaseException):
    """Ends a spawned function that still waits when its bus is closed."""


for _class in (Deadlock, WrongThread, Killed):
    _class.__module__ = "slipring.testing"
