# SPDX-License-Identifier: Apache-2.0
"""Where a recording begins on each topic, and how far each topic has gone, seen from beside Spark.

A topic can be removed with messages that no batch has taken. Then nothing else knows that they were there. So the
recorder has every topic of the recording open, from before Spark starts: an open topic tells how far it went also after
its removal. What is known is kept in `_checkpoint/<session>.tails`, for a recorder that goes on or ends the session
later. `lost` is what remains when the session ends: offsets that were there, and are in no batch.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import slipring
from slipring._bus.ranges import Ranges
from slipring._bus.subscriber import Subscriber
from slipring.errors import SlipringError, TopicGone, TopicNotFound

from ..lake import DamagedLake, Lake
from ..lake import validation as admission
from ..lake.model import Session
from .batch_plan import Piece, is_there
from .ends import Ends
from .session import Starts, Subscription

SAVE_EVERY_S = 1.0


@dataclass
class Tail:
    """What is known of one generation of a topic."""

    first: int | None  # where the recording begins on it; None: not known
    next: int  # one beyond its last offset


def path_of(lake: Lake, session: str) -> Path:
    return lake.path / "_checkpoint" / f"{session}.tails"


class Tails:
    """Of the topics of one session. Used by several threads."""

    def __init__(self, lake: Lake, session: str, bus: slipring.Bus, subscription: Subscription) -> None:
        self._path = path_of(lake, session)
        self._bus, self._subscription = bus, subscription
        self._known = load(self._path)
        self._open: dict[str, _Topic] = {}
        self._turn = threading.RLock()
        self._saved, self._saved_s = "", float("-inf")

    def begin(self, starts: Starts, *, resumed: bool) -> None:
        """The recording begins there. What is known from an earlier run stays; of topics that came between two runs
        nobody knows where."""
        with self._turn:
            for topic, (generation, first) in starts.items():
                self._known.setdefault((topic, generation), Tail(first, first))
            self.look(came_later=not resumed)
            self.save()

    def first(self, topic: str, generation: str) -> int | None:
        """Where the recording begins on a topic."""
        found = self._known.get((topic, generation))
        return None if found is None else found.first

    def look(self, *, came_later: bool = True) -> None:
        """See how far the topics are, and which there are. Those that came later are recorded from their first message
        on."""
        with self._turn:
            for topic in self._subscription.matching(self._bus):
                self._follow(topic, 0 if came_later else None)
            for topic, opened in self._open.items():
                tail = self._known[topic, opened.generation]
                tail.next = max(tail.next, opened.next(tail.next))
            if time.monotonic() - self._saved_s >= SAVE_EVERY_S:
                self.save()

    def ends(self) -> Ends:
        """Where the recording ends, if it ends now: everything that is published is in it."""
        with self._turn:
            self.look()
            ends: Ends = {}
            for topic, opened in self._open.items():
                tail = self._known[topic, opened.generation]
                ends[topic] = opened.generation, opened.committed(tail.first or 0, tail.next)
            return ends

    def save(self) -> None:
        """Whole or not at all. Not forced to disk: after a power cut the topics are gone, and all of their tails."""
        with self._turn:
            known = [[*key, tail.first, tail.next] for key, tail in sorted(self._known.items())]
            text = json.dumps({"topics": known})
            if text != self._saved:
                temporary = self._path.with_suffix(".tails-new")
                temporary.write_text(text)
                os.replace(temporary, self._path)
            self._saved, self._saved_s = text, time.monotonic()

    def close(self) -> None:
        with self._turn:
            while self._open:
                self._open.popitem()[1].close()

    def _follow(self, topic: str, first: int | None) -> None:
        """Have the topic open that is there now."""
        opened = self._open.get(topic)
        if opened is not None and opened.is_there():
            return
        try:
            found = _Topic(self._bus, topic)
        except (TopicNotFound, TopicGone):
            return
        if opened is not None:
            tail = self._known[topic, opened.generation]
            tail.next = max(tail.next, opened.next(tail.next))  # a removed topic does not go on
            opened.close()
        self._open[topic] = found
        self._known.setdefault((topic, found.generation), Tail(first, first or 0))


class _Topic:
    """One generation of a topic, open. A subscriber tells how far it went also when it is removed; it is lossy, so that
    it holds nothing back."""

    def __init__(self, bus: slipring.Bus, topic: str) -> None:
        self._ranges = Ranges(bus, topic)
        self._subscriber: Subscriber | None = None
        self.generation = f"{self._ranges.generation:016x}"
        try:
            self._subscriber = bus.subscriber(topic, start="new", lossy=True)
            self._ranges.oldest()  # still the bus's file: then the subscriber has the same
        except (TopicNotFound, TopicGone):
            self.close()
            raise
        except SlipringError:
            pass  # a topic that is no one's to subscribe to (frames, or may only be looked at): as far as seen

    def is_there(self) -> bool:
        try:
            self._ranges.oldest()
        except TopicGone:
            return False
        return True

    def next(self, known: int) -> int:
        """One beyond its last offset."""
        if self._subscriber is None:
            return self.committed(known, known)
        counts = self._subscriber.stats()
        tail: int = counts["position"] + counts["lag"]
        with suppress(TopicGone):
            self._subscriber.seek("new")  # so that it does not look like a reader that is behind
        return tail

    def committed(self, start: int, otherwise: int) -> int:
        """The end of what is settled; for a topic that was removed, what is known."""
        try:
            return self._ranges.committed(start)
        except TopicGone:
            return otherwise

    def close(self) -> None:
        if self._subscriber is not None:
            self._subscriber.close()
        self._ranges.close()


def load(path: Path) -> dict[tuple[str, str], Tail]:
    """What is kept of the tails of a session; nothing when there is no file."""
    try:
        return dict(_parsed(json.loads(path.read_text())))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DamagedLake(
            f"{path} is damaged ({error}): remove it; messages lost with removed topics are then not counted"
        ) from None


def _parsed(value: Any) -> Iterator[tuple[tuple[str, str], Tail]]:
    for topic, generation, first, following in value["topics"]:
        if not isinstance(topic, str) or not re.fullmatch(admission.NAME, topic):
            raise ValueError(f"{topic!r} is no topic")
        key = topic, admission.generation(generation)
        known = None if first is None else admission.number(first, "first")
        yield key, Tail(known, admission.number(following, "next"))


def lost(lake: Lake, session: Session, bus: slipring.Bus) -> list[Piece]:
    """Offsets that the recording began with or saw, and that no batch has: their topic was removed too early."""
    found = []
    for (topic, generation), tail in load(path_of(lake, session.id)).items():
        runs = [run for run in session.coverage.get(topic, ()) if run.generation == generation]
        gone = not is_there(bus, topic, generation)
        if runs:
            if tail.first is not None and tail.first < runs[0].first:
                found.append(Piece(topic, generation, tail.first, runs[0].first))
            if gone and runs[-1].end < tail.next:
                found.append(Piece(topic, generation, runs[-1].end, tail.next))
        elif gone and tail.first is not None and tail.first < tail.next:
            found.append(Piece(topic, generation, tail.first, tail.next))
    return found
