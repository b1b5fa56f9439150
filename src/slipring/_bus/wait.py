# SPDX-License-Identifier: Apache-2.0
"""Waiting on many subscribers at once, whatever carries their messages.

Each subscriber brings its own `_waits`: the way in which its kind of bus waits. `wait` finds one that can wait for all
of them. subscriber.py has the way of shared memory; the bridge and the stepped bus have their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Final, Protocol, TypeVar

from slipring.errors import BadArgument, SlipringError

from .native import _native
from .settings import timeout_s

T = TypeVar("T")

_MOMENT_S = 0.001


class Clock(Protocol):
    """The clock of a bus. The module `time` is one; slipring.testing has another, in virtual time."""

    def monotonic(self) -> float: ...
    def monotonic_ns(self) -> int: ...
    def time_ns(self) -> int: ...
    def sleep(self, seconds: float, /) -> None: ...


class Bell(Protocol):
    def ring(self) -> None: ...


class Waits(Protocol):
    """The way in which one kind of bus waits: one object for all subscribers that can be waited for together."""

    def monotonic(self) -> float:
        """Return the time of the clock of time-outs, in seconds."""
        ...

    def with_others(self) -> frozenset[Waits]:
        """Return this way and others whose subscribers it can wait for in the same call."""
        ...

    def sleep(
        self,
        items: tuple[Waitable, ...],
        timeout: float | None,
        bell: _native.Bell | None = None,
        rings: int = 0,
    ) -> None:
        """Sleep until an item may have a message, the bell has rung more than `rings` times, or the timeout.

        It may return earlier."""
        ...

    async def until(self, item: Waitable, timeout: float | None, take: Callable[[], T | None]) -> T | None:
        """Return what `take` finds at the item, or None after timeout. `take` never waits. Cancelling loses nothing."""
        ...


class Waited(Protocol):
    """A subscriber, on which a wait sleeps."""

    @property
    def _waits(self) -> Waits: ...


class Waitable(Protocol):
    """An argument of `slipring.wait`: a subscriber, or a handle that has one."""

    @property
    def topic(self) -> str: ...

    def _ready(self) -> bool: ...

    def _waited(self) -> Waited:
        """Return the subscriber to sleep on: itself, or its own."""
        ...


Item = TypeVar("Item", bound=Waitable)


class _Bells:
    """Bells that are rung together. There is no lock, which a forked child might inherit locked: each step is one
    operation of a dict."""

    def __init__(self) -> None:
        self._bells: dict[int, Bell] = {}

    def add(self, bell: Bell) -> None:
        self._bells[id(bell)] = bell

    def remove(self, bell: Bell) -> None:
        self._bells.pop(id(bell), None)

    def ring(self) -> None:
        for bell in self._bells.copy().values():
            bell.ring()


# The bells of all waits for members in this process. A member rings them when it has moved messages from the ring to
# its inbox: the ring wakes nobody for these.
INBOX_BELLS: Final = _Bells()


@contextmanager
def inbox_bell() -> Iterator[_native.Bell]:
    """Provide a bell that rings whenever a member has moved messages to its inbox."""
    bell = _native.Bell()
    INBOX_BELLS.add(bell)
    try:
        yield bell
    finally:
        INBOX_BELLS.remove(bell)


def wait(subscribers: Iterable[Item], timeout: float | None = None) -> list[Item]:
    """Wait until one of the subscribers has a message; return those that have one, or [] after timeout."""
    items = _checked(subscribers)
    seconds = timeout_s(timeout)
    waits = _waits_of({item._waited()._waits for item in items})
    deadline = None if seconds is None else waits.monotonic() + seconds
    has_inbox = any(hasattr(item, "_inbox") for item in items)  # of members
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


def _checked(subscribers: Iterable[Item]) -> tuple[Item, ...]:
    if hasattr(subscribers, "_waited"):  # it is iterable, and would be read to its end
        raise TypeError(
            f"subscribers must be a list, not one {type(subscribers).__name__}: write wait([subscriber])"
        )
    items = tuple(subscribers)
    if not items:
        raise BadArgument("subscribers is empty: give at least one", argument="subscribers")
    for item in items:
        if not hasattr(item, "_waited"):
            raise TypeError(f"subscribers must hold Subscriber or Member, not {type(item).__name__}")
    return items


def _waits_of(kinds: set[Waits]) -> Waits:
    """Return the one that can wait for all of them."""
    for kind in kinds:
        if kinds <= kind.with_others():
            return kind
    text = "subscribers of a stepped bus and of another one cannot be waited for in one call"
    raise BadArgument(text, argument="subscribers")


def _is_ready(item: Waitable) -> bool:
    try:
        return item._ready()
    except SlipringError as error:
        _name_topic(error, item)
        raise


def _raise_named(items: tuple[Waitable, ...], waits: Waits) -> None:
    """Raise the error of the item that ended the sleep of all. A short wait on each one alone finds it."""
    for item in items:
        try:
            item._ready()
            waits.sleep((item,), _MOMENT_S)
        except SlipringError as error:
            _name_topic(error, item)
            raise


def _name_topic(error: SlipringError, item: Waitable) -> None:
    """Let the error's message begin with the topic, unless it has the name already."""
    name = f"'{item.topic}'"
    if name not in str(error):
        error.args = (f"topic {name}: {error}",)
