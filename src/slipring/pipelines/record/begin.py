# SPDX-License-Identifier: Apache-2.0
"""Which topics a recording has, which session it resumes or follows, and where it begins on each topic.

A session that was not ended was killed or left open. It is resumed from its checkpoint if the same topics are asked
for on the same host. Otherwise a new session begins: where the unfinished one ended, now, or with what the rings still
hold. No offset that is in the lake is recorded again.
"""

from __future__ import annotations

import fnmatch
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

import slipring
from slipring._bus.ranges import RangeReader
from slipring.errors import BadArgument, TopicGone, TopicNotFound

from ..lake import Lake
from ..lake.model import Json, Session
from . import hosts

# topic: generation, and the offset at which the recording begins on it
StartOffsets = dict[str, tuple[str, int]]


@dataclass(frozen=True)
class Subscription:
    """The topics: names, or a pattern, which matches later topics, too."""

    names: tuple[str, ...]
    pattern: str | None

    @classmethod
    def of(cls, topics: str | Iterable[str]) -> Subscription:
        """Make one from names and shell patterns: "imu", "camera.*", "*"."""
        words = [topics] if isinstance(topics, str) else list(topics)
        names = sorted({name.strip() for word in words for name in word.split(",") if name.strip()})
        if not names:
            raise BadArgument("topics is empty: name one or more, or '*' for all", argument="topics")
        if not any(set(name) & set("*?[") for name in names):
            return cls(tuple(names), None)
        return cls((), "|".join(f"(?:{fnmatch.translate(name)})" for name in names))

    def option(self) -> tuple[str, str]:
        """Name and value of the source's option."""
        return (
            ("subscribe", ",".join(self.names))
            if self.pattern is None
            else ("subscribePattern", self.pattern)
        )

    def present(self, bus: slipring.Bus) -> list[str]:
        """Return the topics that exist; TopicNotFound if a named one does not."""
        if self.pattern is None:
            missing = sorted(set(self.names) - set(bus.topics()))
            if missing:
                there = ", ".join(bus.topics()) or "none"
                raise TopicNotFound(
                    f"bus {bus.name!r} in {bus.root} has no topic {missing[0]!r} (topics: {there}): start its "
                    "publisher first, or record a pattern such as '*', which includes later topics"
                )
        return self.matching(bus)

    def matching(self, bus: slipring.Bus) -> list[str]:
        """Return the named topics, or the existing ones that match the pattern."""
        if self.pattern is None:
            return list(self.names)
        pattern = re.compile(self.pattern)
        return [name for name in bus.topics() if pattern.fullmatch(name)]


def description(subscription: Subscription, bus: slipring.Bus) -> Json:
    """What a session keeps, so that a later recording can decide whether to resume it."""
    option, value = subscription.option()
    return {
        option: value,
        "bus": bus.name,
        "root": bus.root,
        "host": msgspec.to_builtins(hosts.identity(bus)),
    }


def cursor_name(lake: Lake, session: str) -> str:
    """The name of the session's cursors on reliable topics."""
    return f"lake-{lake.id}-{session}"


def checkpoint(lake: Lake, session: str) -> Path:
    """Spark's checkpoint of the session's query."""
    return lake.path / "_checkpoint" / session


def unfinished(lake: Lake) -> list[Session]:
    """Return the sessions that were not ended, the oldest first."""
    found = [session for session in lake.state.sessions.values() if not session.finished]
    return sorted(found, key=lambda session: session.started_ns)


def last_unfinished(lake: Lake, bus: slipring.Bus) -> Session | None:
    """Return the last unfinished session of the same bus of this host: the one to resume or to follow."""
    same = [
        one
        for one in unfinished(lake)
        if one.about.get("bus") == bus.name and one.about.get("root") == bus.root and hosts.is_own(one, bus)
    ]
    return same[-1] if same else None


def can_resume(lake: Lake, session: Session, wanted: Json) -> bool:
    """Whether the session has the wanted topics, and its checkpoint is usable."""
    same = all(session.about.get(key) == value for key, value in wanted.items() if key != "host")
    return same and _is_whole(checkpoint(lake, session.id))


def _is_whole(checkpoint: Path) -> bool:
    """Spark writes these files without forcing them to disk: after a power cut they may be empty."""
    if not (checkpoint / "metadata").exists():
        return not (checkpoint / "offsets").exists()  # the query has not begun
    files = [checkpoint / "metadata"]
    for part in ("offsets", "commits"):
        numbered = [path for path in (checkpoint / part).glob("[0-9]*") if path.name.isdigit()]
        files += sorted(numbered, key=lambda path: int(path.name))[-1:]
    return all(path.stat().st_size > 0 for path in files)


def remove_partial_files(checkpoint: Path) -> None:
    """Remove temporary files of a killed driver. Spark begins with its first batch only in an empty checkpoint, and
    counts these files as contents."""
    for part in ("offsets", "commits"):
        for path in (checkpoint / part).glob(".*.tmp"):
            path.unlink(missing_ok=True)


def start_offsets(
    lake: Lake, bus: slipring.Bus, topics: list[str], pre_buffer: bool | float, previous: Session | None
) -> StartOffsets:
    """Return where a new session begins on each topic; it may follow an unfinished one."""
    found = {}
    for topic in topics:
        try:
            with RangeReader(bus, topic) as reader:
                found[topic] = f"{reader.generation:016x}", _start_offset(lake, reader, pre_buffer, previous)
        except (TopicNotFound, TopicGone):
            continue  # removed a moment ago; if it is made again, it is recorded from its first message on
    return found


def _start_offset(lake: Lake, reader: RangeReader, pre_buffer: bool | float, previous: Session | None) -> int:
    generation, topic = f"{reader.generation:016x}", reader.topic
    recorded = [
        run.end
        for session in lake.state.sessions.values()
        for run in session.coverage.get(topic, ())
        if run.generation == generation
    ]
    if previous is not None and any(run.generation == generation for run in previous.coverage.get(topic, ())):
        return max(recorded)
    oldest = reader.oldest()
    if pre_buffer is False:
        return reader.settled_end(oldest)
    if pre_buffer is not True:
        oldest = max(oldest, reader.at_time(time.time_ns() - int(pre_buffer * 1e9)))
        oldest = min(oldest, reader.settled_end(reader.oldest()))
    return max([oldest, *recorded])


def create_cursors(bus: slipring.Bus, starts: StartOffsets, name: str) -> StartOffsets:
    """Create cursors on reliable topics, which keep messages from now on. Return where the recording begins then."""
    found = dict(starts)
    for topic, (generation, first) in starts.items():
        try:
            with RangeReader(bus, topic) as reader:
                if reader.delivery != "reliable":
                    continue  # lossy: losses since that offset are counted
            if name not in _cursors(bus, topic):
                bus.subscriber(topic, start=first, cursor=name).close()
            found[topic] = generation, _cursors(bus, topic)[name]
        except (TopicNotFound, TopicGone):
            continue
    return found


def _cursors(bus: slipring.Bus, topic: str) -> dict[str, int]:
    return {cursor["name"]: cursor["position"] for cursor in bus.cursors(topic)}
