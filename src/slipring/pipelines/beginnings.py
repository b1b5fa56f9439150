# SPDX-License-Identifier: Apache-2.0
"""Which topics a recording takes, which session it goes on with, and where it begins on each topic.

A session that was not ended (its process died, or it was left open) is gone on with, from its checkpoint,
when the same topics are asked for. Otherwise a new one begins: on topics of the unfinished one where that one
ended, on others now, or with what their rings still hold. No offset that is in the lake is recorded again.
"""

from __future__ import annotations

import fnmatch
import json
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import slipring
from slipring._bus.ranges import Ranges
from slipring.errors import BadArgument, TopicGone, TopicNotFound

from .lake import Lake
from .lake.model import Json, Session

EARLIEST, LATEST = "earliest", "latest"


@dataclass(frozen=True)
class Subscription:
    """The topics: names, or a pattern that later topics may match, too."""

    names: tuple[str, ...]
    pattern: str | None

    @classmethod
    def of(cls, topics: str | Iterable[str]) -> Subscription:
        """From names and shell patterns: "imu", "camera.*", "*"."""
        words = [topics] if isinstance(topics, str) else list(topics)
        names = sorted({name.strip() for word in words for name in word.split(",") if name.strip()})
        if not names:
            raise BadArgument("topics is empty: name one or more, or '*' for all", argument="topics")
        if not any(set(name) & set("*?[") for name in names):
            return cls(tuple(names), None)
        return cls((), "|".join(f"(?:{fnmatch.translate(name)})" for name in names))

    def option(self) -> tuple[str, str]:
        """As the source wants it."""
        return (
            ("subscribe", ",".join(self.names))
            if self.pattern is None
            else ("subscribePattern", self.pattern)
        )

    def present(self, bus: slipring.Bus) -> list[str]:
        """The topics that are there; TopicNotFound when one that is named is not."""
        if self.pattern is None:
            missing = sorted(set(self.names) - set(bus.topics()))
            if missing:
                there = ", ".join(bus.topics()) or "none"
                raise TopicNotFound(
                    f"there is no topic {missing[0]!r} on bus {bus.name!r} in {bus.root} (there: {there}): start its "
                    "publisher first, or record a pattern such as '*', which takes topics that come later"
                )
        return self.matching(bus)

    def matching(self, bus: slipring.Bus) -> list[str]:
        """Those that are there, or may come."""
        if self.pattern is None:
            return list(self.names)
        pattern = re.compile(self.pattern)
        return [name for name in bus.topics() if pattern.fullmatch(name)]


def about(subscription: Subscription, bus: slipring.Bus) -> Json:
    """What a session keeps, to know whether it is the one to go on with."""
    option, value = subscription.option()
    return {option: value, "bus": bus.name, "root": bus.root}


def cursor(lake: Lake, session: str) -> str:
    """The name of the session's cursors on reliable topics."""
    return f"lake-{lake.id}-{session}"


def unfinished(lake: Lake) -> list[Session]:
    """The sessions that were not ended, the oldest first."""
    found = [session for session in lake.state.sessions.values() if not session.finished]
    return sorted(found, key=lambda session: session.started_ns)


def to_follow(lake: Lake, wanted: Json) -> Session | None:
    """The session to go on with, or to follow: the last of the same bus, unless it was ended."""
    same = [
        one for one in unfinished(lake) if all(one.about.get(key) == wanted[key] for key in ("bus", "root"))
    ]
    return same[-1] if same else None


def checkpoint(lake: Lake, session: str) -> Path:
    """Where Spark keeps how far the session's query has come."""
    return lake.path / "_checkpoint" / session


def can_go_on(lake: Lake, session: Session, wanted: Json) -> bool:
    """Whether Spark's checkpoint of the session is usable, and it is about the same topics."""
    return session.about == wanted and _is_whole(checkpoint(lake, session.id))


def drop_half_written(checkpoint: Path) -> None:
    """What a killed driver was just writing. Spark begins with its first batch in an empty checkpoint only, and counts
    these files as contents."""
    for part in ("offsets", "commits"):
        for path in (checkpoint / part).glob(".*.tmp"):
            path.unlink(missing_ok=True)


def _is_whole(checkpoint: Path) -> bool:
    """Spark writes these files without forcing them to disk: after a power cut they may be empty."""
    if not (checkpoint / "metadata").exists():
        return not (checkpoint / "offsets").exists()  # nothing was begun
    files = [checkpoint / "metadata"]
    for part in ("offsets", "commits"):
        numbered = [path for path in (checkpoint / part).glob("[0-9]*") if path.name.isdigit()]
        files += sorted(numbered, key=lambda path: int(path.name))[-1:]
    return all(path.stat().st_size > 0 for path in files)


def starting(
    lake: Lake, bus: slipring.Bus, topics: list[str], pre_buffer: bool | float, before: Session | None
) -> str:
    """The source's startingOffsets for a new session, which may follow one that was not ended."""
    places = {}
    for topic in topics:
        place = _place(lake, bus, topic, pre_buffer, before)
        if place is not None:
            places[topic] = place
    if not places:
        return EARLIEST if pre_buffer else LATEST
    return json.dumps(places)


def _place(
    lake: Lake, bus: slipring.Bus, topic: str, pre_buffer: bool | float, before: Session | None
) -> int | str | None:
    try:
        with Ranges(bus, topic) as ranges:
            generation = f"{ranges.generation:016x}"
            recorded = [
                run.end
                for session in lake.state.sessions.values()
                for run in session.coverage.get(topic, ())
                if run.generation == generation
            ]
            if before is not None and any(
                run.generation == generation for run in before.coverage.get(topic, ())
            ):
                return max(recorded)
            if pre_buffer is False:
                return LATEST
            oldest = ranges.oldest()
            if pre_buffer is not True:
                oldest = max(oldest, ranges.at_time(time.time_ns() - int(pre_buffer * 1e9)))
                oldest = min(oldest, ranges.committed(ranges.oldest()))
            return max([oldest, *recorded])
    except (TopicNotFound, TopicGone):
        return None  # the source tells what is missing, or it comes later
