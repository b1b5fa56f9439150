# SPDX-License-Identifier: Apache-2.0
"""Where the recording begins on each topic, and how far each topic has gone, observed without Spark.

A topic can be removed with messages that are in no batch yet. Then nothing else knows that they existed. So the
recorder has every topic of the recording open, from before Spark starts: an open topic reports its last offset even
after its removal. The extents are saved in `_checkpoint/<session>.tails`, for a recorder that resumes or ends the
session later. When the session ends, `lost` returns the offsets that existed and are in no batch.
"""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

import slipring
from slipring._bus.ranges import RangeReader
from slipring._bus.subscriber import Subscriber
from slipring.errors import SlipringError, TopicGone, TopicNotFound

from ..lake import DamagedLake, Lake
from ..lake.model import OffsetRange, Session
from ..lake.validation import Generation, Number, TopicName, decoded
from .begin import StartOffsets, Subscription
from .end_offsets import EndOffsets
from .topic_state import is_there

SAVE_EVERY_S = 1.0


@dataclass
class Extent:
    """The known part of one generation of a topic."""

    first: int | None  # where the recording begins on it; None if that is not known
    next: int  # one beyond its last offset


class _Saved(msgspec.Struct):
    """The contents of the file."""

    topics: list[tuple[TopicName, Generation, Number | None, Number]]


def path_of(lake: Lake, session: str) -> Path:
    return lake.path / "_checkpoint" / f"{session}.tails"


class TopicExtents:
    """The extents of the topics of one session. Several threads use it."""

    def __init__(self, lake: Lake, session: str, bus: slipring.Bus, subscription: Subscription) -> None:
        self._path = path_of(lake, session)
        self._bus, self._subscription = bus, subscription
        self._known = load(self._path)
        self._open: dict[str, _OpenTopic] = {}
        self._lock = threading.RLock()
        self._saved, self._saved_s = "", float("-inf")

    def start(self, starts: StartOffsets, *, resumed: bool) -> None:
        """Begin the recording at these offsets; extents of an earlier run stay as they are.

        resumed: the begin of topics that appeared between the two runs is not known."""
        with self._lock:
            for topic, (generation, first) in starts.items():
                self._known.setdefault((topic, generation), Extent(first, first))
            self.update(came_later=not resumed)
            self.save()

    def first(self, topic: str, generation: str) -> int | None:
        """Where the recording begins on a topic, if that is known."""
        found = self._known.get((topic, generation))
        return None if found is None else found.first

    def update(self, *, came_later: bool = True) -> None:
        """Observe which topics exist, and how far they have gone.

        came_later: topics that are new are recorded from their first message on."""
        with self._lock:
            for topic in self._subscription.matching(self._bus):
                self._follow(topic, 0 if came_later else None)
            for topic, opened in self._open.items():
                extent = self._known[topic, opened.generation]
                extent.next = max(extent.next, opened.next(extent.next))
            if time.monotonic() - self._saved_s >= SAVE_EVERY_S:
                self.save()

    def end_offsets(self) -> EndOffsets:
        """Where the recording ends if it ends now, after all published messages."""
        with self._lock:
            self.update()
            ends: EndOffsets = {}
            for topic, opened in self._open.items():
                extent = self._known[topic, opened.generation]
                ends[topic] = opened.generation, opened.settled_end(extent.first or 0, extent.next)
            return ends

    def save(self) -> None:
        """Replace the file as a whole. It is not forced to disk: after a power cut the topics are gone, too."""
        with self._lock:
            known = [[*key, extent.first, extent.next] for key, extent in sorted(self._known.items())]
            text = json.dumps({"topics": known})
            if text != self._saved:
                temporary = self._path.with_suffix(".tails-new")
                temporary.write_text(text)
                os.replace(temporary, self._path)
            self._saved, self._saved_s = text, time.monotonic()

    def close(self) -> None:
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

    def _follow(self, topic: str, first: int | None) -> None:
        """Open the present generation of a topic, unless it is open."""
        opened = self._open.get(topic)
        if opened is not None and opened.is_there():
            return
        try:
            found = _OpenTopic(self._bus, topic)
        except (TopicNotFound, TopicGone):
            return
        if opened is not None:
            extent = self._known[topic, opened.generation]
            extent.next = max(extent.next, opened.next(extent.next))  # a removed topic gets no more messages
            opened.close()
        self._open[topic] = found
        self._known.setdefault((topic, found.generation), Extent(first, first or 0))


class _OpenTopic:
    """One generation of a topic, open. Its subscriber reports the last offset even after the topic was removed. The
    subscriber is lossy, so that it holds nothing back."""

    def __init__(self, bus: slipring.Bus, topic: str) -> None:
        self._reader = RangeReader(bus, topic)
        self._subscriber: Subscriber | None = None
        self.generation = f"{self._reader.generation:016x}"
        try:
            self._subscriber = bus.subscriber(topic, start="new", lossy=True)
            self._reader.oldest()  # the file is still that of the bus: then the subscriber has the same one
        except (TopicNotFound, TopicGone):
            self.close()
            raise
        except SlipringError:
            pass  # a topic without subscribers (frames, or opened for inspection only): only ranges of it are read

    def is_there(self) -> bool:
        try:
            self._reader.oldest()
        except TopicGone:
            return False
        return True

    def next(self, known: int) -> int:
        """One beyond its last offset."""
        if self._subscriber is None:
            return self.settled_end(known, known)
        counts = self._subscriber.stats()
        end: int = counts["position"] + counts["lag"]
        with suppress(TopicGone):
            self._subscriber.seek("new")  # otherwise it looks like a reader that is behind
        return end

    def settled_end(self, start: int, otherwise: int) -> int:
        """The end of the committed messages; `otherwise` for a topic that was removed."""
        try:
            return self._reader.settled_end(start)
        except TopicGone:
            return otherwise

    def close(self) -> None:
        if self._subscriber is not None:
            self._subscriber.close()
        self._reader.close()


def load(path: Path) -> dict[tuple[str, str], Extent]:
    """Return the saved extents of a session, none if there is no file."""
    try:
        saved = decoded(path.read_bytes(), _Saved)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DamagedLake(
            f"{path} is damaged ({error}): remove it; messages lost with removed topics are then not counted"
        ) from None
    return {(topic, generation): Extent(first, end) for topic, generation, first, end in saved.topics}


def lost(lake: Lake, session: Session, bus: slipring.Bus) -> list[OffsetRange]:
    """Return offsets that existed and are in no batch, because their topic was removed too early."""
    found = []
    for (topic, generation), extent in load(path_of(lake, session.id)).items():
        runs = [run for run in session.coverage.get(topic, ()) if run.generation == generation]
        gone = not is_there(bus, topic, generation)
        if runs:
            if extent.first is not None and extent.first < runs[0].first:
                found.append(OffsetRange(topic, generation, extent.first, runs[0].first))
            if gone and runs[-1].end < extent.next:
                found.append(OffsetRange(topic, generation, runs[-1].end, extent.next))
        elif gone and extent.first is not None and extent.first < extent.next:
            found.append(OffsetRange(topic, generation, extent.first, extent.next))
    return found
