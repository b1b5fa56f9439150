# SPDX-License-Identifier: Apache-2.0
"""The topics that match a pattern now, each with its subscriber.

A topic that appears after the first search is read from its first message on. One that is removed leaves: the messages
it holds are read, then its counts go into the sums. One that is replaced leaves and is attached again. One that cannot
be read (damaged, denied, no entry left) is an error to be raised once, with its name; it is tried again when it is
replaced.

Topics of calls are left out: a reader of a reply topic would make a crashed client seem alive, and one of a service's
calls would hold back all clients.
"""

from __future__ import annotations

import fnmatch
import re
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from slipring.errors import Corrupt, SlipringError, WrongLayout

from ..calls import protocol
from ..logs import log

if TYPE_CHECKING:
    from ..bus import Bus
    from ..subscriber import Subscriber

DAMAGED: Final = (Corrupt, WrongLayout)  # ends the part, not the handle


class Part:
    """One topic."""

    __slots__ = ("identity", "leaving", "subscriber", "topic")

    def __init__(self, topic: str, identity: int, subscriber: Subscriber) -> None:
        self.topic, self.identity, self.subscriber = topic, identity, subscriber
        self.leaving = False  # the topic was removed or replaced


class PatternTopics:
    def __init__(self, bus: Bus, pattern: str, subscribe: Callable[[str, str | int], Subscriber]) -> None:
        self._bus, self._pattern, self._subscribe = bus, pattern, subscribe
        self._matches = re.compile(fnmatch.translate(pattern)).fullmatch
        self._stamp: object = None  # of the last search
        self._looking = False
        self.looked = bus.clock.monotonic()
        self.parts: Final[list[Part]] = []
        self.errors: Final[deque[SlipringError]] = deque()  # to be raised, each once
        self.past: Final = [0, 0, 0]  # received, lost, filtered by parts that are gone
        self.refused: dict[str, int] = {}  # topics that could not be read, with their identities

    def look(self, start: str | int = 0) -> None:
        """Attach the new topics of the bus at start; without it, at their first message."""
        if self._looking:
            return  # attaching wakes other tasks, on a stepped bus at once, and these search too
        self._looking = True
        try:
            self.looked = self._bus.clock.monotonic()
            self._stamp, found = self._bus._identities(self._stamp)
            if found is not None:
                self._take_in(found, start)
        finally:
            self._looking = False

    def _take_in(self, found: dict[str, int], start: str | int) -> None:
        matching = {name for name in found if self._matches(name)}
        there = {name: found[name] for name in matching - protocol.of_calls(found)}
        for part in self.parts:
            part.leaving = part.leaving or there.get(part.topic) != part.identity
        present = {part.topic for part in self.parts}
        self.refused = {name: at for name, at in self.refused.items() if there.get(name) == at}
        for name in sorted(there.keys() - present - self.refused.keys()):
            self._attach(name, there[name], start)
        if any(part.leaving for part in self.parts):
            self._stamp = None  # another topic may have its name by now

    def _attach(self, topic: str, identity: int, start: str | int) -> None:
        try:
            subscriber = self._subscribe(topic, start)
        except SlipringError as error:
            self._refuse(topic, identity, error)
            return
        if subscriber.attached and self._bus._identity(topic) == identity:
            self.parts.append(Part(topic, identity, subscriber))
            log("bus", "debug", "pattern '%s' reads topic '%s'", self._pattern, topic)
        else:  # removed or replaced meanwhile: the next search finds the present one
            subscriber.close()
            self._stamp = None

    def _refuse(self, topic: str, identity: int, error: SlipringError) -> None:
        self.refused[topic] = identity
        log("bus", "warning", "pattern '%s' cannot read topic '%s': %s", self._pattern, topic, error)
        error.args = (f"topic '{topic}' of pattern '{self._pattern}': {error}", *error.args[1:])
        self.errors.append(error)

    def drop(self, part: Part) -> None:
        """Drop a part that has left."""
        if part.leaving:
            log(
                "bus", "info", "topic '%s' of pattern '%s' was removed or replaced", part.topic, self._pattern
            )
        self.parts.remove(part)
        for number, count in enumerate(part.subscriber._counts()[:3]):
            self.past[number] += count
        part.subscriber.close()
        self._stamp = None

    def give_up(self, part: Part, error: SlipringError) -> None:
        """Drop a part that cannot be read any more."""
        self.drop(part)
        self._refuse(part.topic, part.identity, error)
