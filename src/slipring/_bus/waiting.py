# SPDX-License-Identifier: Apache-2.0
"""Waiting on many subscribers at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from slipring.errors import BadArgument

from .settings import timeout_s
from .waits import Waitable, Waits

Item = TypeVar("Item", bound=Waitable)


def _waits_of(kinds: set[Waits]) -> Waits:
    """The one that can wait for all of them."""
    for kind in kinds:
        if kinds <= kind.with_others():
            return kind
    text = "subscribers of a stepped bus and of another one cannot be waited for in one call"
    raise BadArgument(text, argument="subscribers")


def wait(subscribers: Iterable[Item], timeout: float | None = None) -> list[Item]:
    """Those of the subscribers that have a message, waiting for the first; empty on expiry."""
    if hasattr(subscribers, "_waited"):  # it is iterable, and would be read to its end
        raise TypeError(
            f"subscribers must be a list of them, not one {type(subscribers).__name__}: wait([…])"
        )
    waited = list(subscribers)
    if not waited:
        raise BadArgument("there is no subscriber to wait for", argument="subscribers")
    for item in waited:
        if not hasattr(item, "_waited"):
            raise TypeError(f"subscribers must hold Subscriber or Member, not {type(item).__name__}")
    seconds = timeout_s(timeout)
    sources = tuple(item._waited() for item in waited)
    waits = _waits_of({source._waits for source in sources})
    deadline = None if seconds is None else waits.monotonic() + seconds
    while True:
        ready = [item for item in waited if item._ready()]
        if ready:
            return ready
        left = None if deadline is None else deadline - waits.monotonic()
        if left is not None and left <= 0:
            return []
        waits.sleep(sources, left)
