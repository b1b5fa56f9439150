# SPDX-License-Identifier: Apache-2.0
"""Waiting on many subscribers at once."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from typing import TypeVar

from slipring.errors import BadArgument, SlipringError

from .member import Member
from .settings import timeout_s
from .waits import Waitable, Waits, inbox_bell

Item = TypeVar("Item", bound=Waitable)

_MOMENT_S = 0.001


def _waits_of(kinds: set[Waits]) -> Waits:
    """The one that can wait for all of them."""
    for kind in kinds:
        if kinds <= kind.with_others():
            return kind
    text = "subscribers of a stepped bus and of another one cannot be waited for in one call"
    raise BadArgument(text, argument="subscribers")


def _checked(subscribers: Iterable[Item]) -> tuple[Item, ...]:
    if hasattr(subscribers, "_waited"):  # it is iterable, and would be read to its end
        raise TypeError(
            f"subscribers must be a list of them, not one {type(subscribers).__name__}: wait([…])"
        )
    items = tuple(subscribers)
    if not items:
        raise BadArgument("there is no subscriber to wait for", argument="subscribers")
    for item in items:
        if not hasattr(item, "_waited"):
            raise TypeError(f"subscribers must hold Subscriber or Member, not {type(item).__name__}")
    return items


def _name_topic(error: SlipringError, item: Waitable) -> None:
    """Let the error's message begin with the topic, unless it has the name already."""
    name = f"'{item.topic}'"
    if name not in str(error):
        error.args = (f"topic {name}: {error}",)


def _is_ready(item: Waitable) -> bool:
    try:
        return item._ready()
    except SlipringError as error:
        _name_topic(error, item)
        raise


def _raise_named(items: tuple[Waitable, ...], waits: Waits) -> None:
    """Raise the error of the item that ended the sleep of all. Each one by itself, for a moment, shows whose it was."""
    for item in items:
        try:
            item._ready()
            waits.sleep((item,), _MOMENT_S)
        except SlipringError as error:
            _name_topic(error, item)
            raise


def wait(subscribers: Iterable[Item], timeout: float | None = None) -> list[Item]:
    """Those of the subscribers that have a message, waiting for the first; empty on expiry."""
    items = _checked(subscribers)
    seconds = timeout_s(timeout)
    waits = _waits_of({item._waited()._waits for item in items})
    deadline = None if seconds is None else waits.monotonic() + seconds
    has_inbox = any(isinstance(item, Member) for item in items)
    with inbox_bell() if has_inbox else nullcontext() as bell:
        while True:
            rings = bell.rings() if bell else 0
            ready = [item for item in items if _is_ready(item)]
            if ready:
                return ready
            left = None if deadline is None else deadline - waits.monotonic()
            if left is not None and left <= 0:
                return []
            try:
                waits.sleep(items, left, bell, rings)
            except SlipringError:
                _raise_named(items, waits)
                raise
