# SPDX-License-Identifier: Apache-2.0
"""Publisher: the compiled type, plus waiting for subscribers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, TypeVar

from slipring.errors import BadArgument

from .closing import Closing
from .native import _native
from .settings import natural, timeout_s

if TYPE_CHECKING:
    import typing_extensions

    Value = typing_extensions.TypeVar("Value", default=Any)
else:
    Value = TypeVar("Value")

BY_DELIVERY: Final = -1.0  # the default time-out of send: forever on reliable topics, none on lossy ones


def wanted_subscribers(n: SupportsIndex, most: int) -> int:
    """Check a number of subscribers to wait for: a topic cannot have more than its reader table."""
    number = natural("n", n)
    if number > most:
        raise BadArgument(
            f"n={number}, but the topic's reader table has max_readers={most}: wait for fewer, or create the topic "
            "with more max_readers=",
            argument="n",
        )
    return number


class PublisherBase(Closing):
    """The part of a publisher that is the same whatever carries its messages."""

    __slots__ = ()

    if TYPE_CHECKING:
        topic: str
        sender: str

        @property
        def closed(self) -> bool: ...
        def _subscribers(self) -> int: ...
        def _max_subscribers(self) -> int: ...

    def wait_for_subscribers(self, n: int = 1, timeout: float | None = None) -> bool:
        """Wait until at least n subscribers are attached; return False after timeout."""
        n = wanted_subscribers(n, self._max_subscribers())
        return self._await_subscribers(n, timeout_s(timeout))

    def _await_subscribers(self, n: int, seconds: float | None, every_s: float = 0.002) -> bool:
        deadline = None if seconds is None else time.monotonic() + seconds
        while self._subscribers() < n:
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(every_s)
        return True

    def __repr__(self) -> str:
        state = " closed" if self.closed else ""
        return f"<Publisher {self.topic!r} sender={self.sender!r}{state}>"


class Publisher(PublisherBase, _native.Publisher[Value]):
    """Sends messages on a topic. Made by `Bus.publisher`. Publisher[Imu] sends objects of the class Imu."""

    __slots__ = ("__weakref__",)


Publisher.__module__ = "slipring"
