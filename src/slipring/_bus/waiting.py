# SPDX-License-Identifier: Apache-2.0
"""Waiting on many subscribers at once."""

from __future__ import annotations

import time
from collections.abc import Iterable

from slipring.errors import BadArgument

from .frame_subscriber import FrameSubscriber
from .member import Member
from .native import _native
from .settings import timeout_s
from .subscriber import Subscriber

_SPIN_US = 20.0


def wait(
    subscribers: Iterable[Subscriber | Member | FrameSubscriber], timeout: float | None = None
) -> list[Subscriber | Member | FrameSubscriber]:
    """Those of the subscribers that have a message, waiting for the first; empty on expiry."""
    waited = list(subscribers)
    if not waited:
        raise BadArgument("there is no subscriber to wait for", argument="subscribers")
    for item in waited:
        if not isinstance(item, (Subscriber, Member, FrameSubscriber)):
            raise TypeError(
                f"subscribers must hold Subscriber, Member or FrameSubscriber, not {type(item).__name__}"
            )
    seconds = timeout_s(timeout)
    natives = tuple(item if isinstance(item, Subscriber) else item.subscriber for item in waited)
    deadline = None if seconds is None else time.monotonic() + seconds
    while True:
        ready = [item for item in waited if item._ready()]
        if ready:
            return ready
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            return []
        _native.wait(natives, None, 0, left, _SPIN_US)
