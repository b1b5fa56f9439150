# SPDX-License-Identifier: Apache-2.0
"""Publisher: the compiled type, plus waiting for subscribers."""

from __future__ import annotations

import time
from typing import SupportsIndex

from slipring.errors import BadArgument

from .closing import Closing
from .native import _native
from .settings import natural, timeout_s

_LOOK_EVERY_S = 0.002


def wanted_subscribers(n: SupportsIndex, most: int) -> int:
    """A number of subscribers that can come to be; more would be waited for in vain."""
    number = natural("n", n)
    if number > most:
        raise BadArgument(
            f"n={number}, but the topic's reader table has max_readers={most}: wait for fewer, or create the topic "
            "with more max_readers=",
            argument="n",
        )
    return number


class Publisher(Closing, _native.Publisher):
    """Sends messages on a topic. Made by `Bus.publisher`."""

    __slots__ = ("__weakref__",)

    def wait_for_subscribers(self, n: int = 1, timeout: float | None = None) -> bool:
        """Wait until at least n subscribers are attached; False on expiry."""
        n = wanted_subscribers(n, self._max_subscribers())
        seconds = timeout_s(timeout)
        deadline = None if seconds is None else time.monotonic() + seconds
        while self._subscribers() < n:
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_EVERY_S)
        return True

    def __repr__(self) -> str:
        state = " closed" if self.closed else ""
        return f"<Publisher {self.topic!r} sender={self.sender!r}{state}>"


Publisher.__module__ = "slipring"
