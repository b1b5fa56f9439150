# SPDX-License-Identifier: Apache-2.0
"""Which call is being answered here."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .job import Job

CURRENT: ContextVar[Job | None] = ContextVar("slipring_current_call", default=None)


def current_job() -> Job | None:
    return CURRENT.get()


def current_call() -> Job | None:
    """Inside a method: the call that it answers, which tells whether it is `cancelled` and how long its
    caller still waits (`remaining`). None elsewhere."""
    return CURRENT.get()


current_call.__module__ = "slipring"
