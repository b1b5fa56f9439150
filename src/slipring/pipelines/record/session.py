# SPDX-License-Identifier: Apache-2.0
"""Which topics a recording takes, which session it goes on with, and where it begins on each topic.

A session that was not ended (its process died, or it was left open) is gone on with, from its checkpoint,
when the same topics are asked for on the same host (hosts.py). Otherwise a new one begins: on topics of the
unfinished one where that one ended, on others now, or with what their rings still hold. No offset that is in
the lake is recorded again.
"""

from __future__ import annotations

import fnmatch
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import slipring
from slipring._bus.ranges import Ranges
from slipring.errors import BadArgument, TopicGone, TopicNotFound

from ..lake import Lake
from ..lake.model import Json, Session
from . import hosts


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
    return {option: value, "bus": bus.name, "root": bus.root, "host": hosts.identity(bus)}


def cursor(lake: Lake, session: str) -> str:
    """The name of the session's cursors on reliable topics."""
    return f"lake-{lake.id}-{session}"


def unfinished(lake: Lake) -> list[Session]:
    """The sessions that were not ended, the oldest first."""
    found = [session for session in lake.state.sessions.values() if not session.finished]
    return sorted(found, key=lambda session: session.started_ns)


def to_follow(lake: Lake, bus: slipring.Bus) -> Session | None:
    """The session to go on with, or to follow: the last of the same bus of this host, unless it was ended."""
    same = [
        one
        for one in unfinished(lake)
        if one.about.get("bus") == bus.name and one.about.get("root") == bus.root and hosts.is_own(one, bus)
    ]
    return same[-1] if same else None


def checkpoint(lake: Lake, session: str) -> Path:
    """Where Spark keeps how far the session's query has come."""
    return lake.path / "_checkpoint" / session


def can_go_on(lake: Lake, session: Session, wanted: Json) -> bool:
    """Whether Spark's checkpoint of the session is usable, and it is about the same topics."""
    same = all(session.about.get(key) == value for key, value in wanted.items() if key != "host")
    return same and _is_whole(checkpoint(lake, session.id))


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


Starts = dict[str, tuple[str, int]]  # topic: generation, and the offset at which the recording begins on it


def starts(
    lake: Lake, bus: slipring.Bus, topics: list[str], pre_buffer: bool | float, before: Session | None
) -> Starts:
    """Where a new session begins, which may follow one that was not ended: now, not when Spark is ready."""
    found = {}
    for topic in topics:
        try:
            with Ranges(bus, topic) as ranges:
                found[topic] = f"{ranges.generation:016x}", _start(lake, ranges, pre_buffer, before)
        except (TopicNotFound, TopicGone):
            continue  # it was there a moment ago; if it comes again, from its first message on
    return found


def _start(lake: Lake, ranges: Ranges, pre_buffer: bool | float, before: Session | None) -> int:
    generation, topic = f"{ranges.generation:016x}", ranges.topic
    recorded = [
        run.end
        for session in lake.state.sessions.values()
        for run in session.coverage.get(topic, ())
        if run.generation == generation
    ]
    if before is not None and any(run.generation == generation for run in before.coverage.get(topic, ())):
        return max(recorded)
    oldest = ranges.oldest()
    if pre_buffer is False:
        return ranges.committed(oldest)
    if pre_buffer is not True:
        oldest = max(oldest, ranges.at_time(time.time_ns() - int(pre_buffer * 1e9)))
        oldest = min(oldest, ranges.committed(ranges.oldest()))
    return max([oldest, *recorded])


def hold(bus: slipring.Bus, starts: Starts, name: str) -> Starts:
    """Keep what is to be recorded: cursors on reliable topics. Where the recording begins then."""
    found = dict(starts)
    for topic, (generation, first) in starts.items():
        try:
            with Ranges(bus, topic) as ranges:
                if ranges.delivery != "reliable":
                    continue  # its place is the number, and what is lost since is counted
            if name not in _cursors(bus, topic):
                bus.subscriber(topic, start=first, cursor=name).close()
            found[topic] = generation, _cursors(bus, topic)[name]
        except (TopicNotFound, TopicGone):
            continue
    return found


def _cursors(bus: slipring.Bus, topic: str) -> dict[str, int]:
    return {cursor["name"]: cursor["position"] for cursor in bus.cursors(topic)}
