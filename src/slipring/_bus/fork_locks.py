# SPDX-License-Identifier: Apache-2.0
"""Locks of handles. A forked child inherits the handles of its parent, and would wait forever for a lock that a thread
of the parent held: that thread is not in the child. So every handle gets a new lock there, and its use raises
ForkedHandle.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import Any, Final, Protocol
from weakref import WeakSet


class Locked(Protocol):
    _lock: Any

    def _forget_inherited(self) -> None:
        """Drop, in a forked child, whatever could be used without a call of the core, which refuses."""
        ...


_owners: Final[WeakSet[Locked]] = WeakSet()


def give_lock(owner: Locked) -> None:
    """Set owner._lock; it is re-entrant, since a signal handler or a finalizer may use the handle too."""
    owner._lock = RLock()
    _owners.add(owner)


def _renew() -> None:
    for owner in list(_owners):
        owner._lock = RLock()
        owner._forget_inherited()


os.register_at_fork(after_in_child=_renew)
