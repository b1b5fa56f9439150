# SPDX-License-Identifier: Apache-2.0
"""Which part of a recording is replayed, and onto which topics; what people write is checked here.

A place in a recording (``start`` is the first that is replayed, ``end`` the first that is not) is written as

    "2026-11-16T04:00:00Z"   a time; without a zone, in local time
    "+12.5s" "+2m" "+1h"     so long after the first recorded message of the chosen topics
    "imu@1000"               a sequence of one topic; the others are not limited by it
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from slipring.errors import BadArgument

Place = str | int | datetime.datetime | datetime.timedelta | Mapping[str, int]
Places = Place | Sequence[Place] | None

_AFTER = re.compile(r"\+(\d+(?:\.\d+)?)(ms|s|m|h|)")
_UNIT_NS = {"ms": 10**6, "": 10**9, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_SEQUENCE = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)@(\d+)")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Recorded:
    """One topic in the lake: its generations in their order, and when its first message was sent."""

    topic: str
    generations: tuple[int, ...]
    first_ns: int


@dataclass(frozen=True)
class Limits:
    """Where a replay begins or ends: a time, and sequences by topic."""

    time_ns: int | None
    sequences: Mapping[str, int]


def read_limits(argument: str, places: Places, chosen: Mapping[str, Recorded]) -> Limits:
    """The places written in ``argument``, checked; of several the latest start or the earliest end is not
    guessed: one time, and one sequence for each topic."""
    found = [_read(argument, place, chosen) for place in _several(places)]
    times = [place for place in found if isinstance(place, int)]
    if len(times) > 1:
        raise BadArgument(f"{argument} names {len(times)} times: give one", argument=argument)
    sequences: dict[str, int] = {}
    for place in found:
        if isinstance(place, int):
            continue
        for topic, sequence in place.items():
            _check_sequence(argument, topic, sequence, sequences, chosen)
            sequences[topic] = sequence
    return Limits(times[0] if times else None, sequences)


def _several(places: Places) -> Sequence[Place]:
    if places is None:
        return ()
    if isinstance(places, Sequence) and not isinstance(places, str):
        return places
    return (places,)


def _read(argument: str, place: Place, chosen: Mapping[str, Recorded]) -> int | Mapping[str, int]:
    if isinstance(place, Mapping) or (isinstance(place, int) and not isinstance(place, bool)):
        return place
    if isinstance(place, datetime.datetime):
        return _time_ns(place)
    if isinstance(place, datetime.timedelta):
        return _first(chosen) + _whole_ns(place)
    if not isinstance(place, str):
        raise TypeError(
            f"{argument} must be a time, a length of time or sequences, not {type(place).__name__}"
        )
    if match := _SEQUENCE.fullmatch(place):
        return {match[1]: int(match[2])}
    if match := _AFTER.fullmatch(place):
        return _first(chosen) + round(float(match[1]) * _UNIT_NS[match[2]])
    try:
        return _time_ns(datetime.datetime.fromisoformat(place))
    except ValueError:
        hint = "write 2026-11-16T04:00:00Z, +12.5s (after the first message) or TOPIC@SEQUENCE"
        raise BadArgument(
            f"{argument}={place!r} is no place in a recording: {hint}", argument=argument
        ) from None


def _whole_ns(length: datetime.timedelta) -> int:
    return (length // datetime.timedelta(microseconds=1)) * 1000


def _time_ns(time: datetime.datetime) -> int:
    return _whole_ns((time if time.tzinfo else time.astimezone()) - _EPOCH)


def _first(chosen: Mapping[str, Recorded]) -> int:
    return min((recorded.first_ns for recorded in chosen.values()), default=0)


def _check_sequence(
    argument: str, topic: str, sequence: int, known: Mapping[str, int], chosen: Mapping[str, Recorded]
) -> None:
    if topic not in chosen:
        raise BadArgument(
            f"{argument} names a sequence of {topic!r}, which is not replayed: {_among(chosen)}",
            argument=argument,
        )
    if topic in known:
        raise BadArgument(f"{argument} names two sequences of {topic!r}: give one", argument=argument)
    if not 0 <= sequence < 2**63:
        raise BadArgument(f"{argument}={topic}@{sequence} is no sequence", argument=argument)
    if len(chosen[topic].generations) > 1:
        often = len(chosen[topic].generations)
        raise BadArgument(
            f"{argument}={topic}@{sequence}: {topic!r} was made anew during the recording ({often} "
            "generations), so a sequence names several messages: give a time",
            argument=argument,
        )


def choose(
    recorded: Mapping[str, Recorded], topics: Iterable[str] | None, exclude: Iterable[str] = ()
) -> dict[str, Recorded]:
    """The recorded topics that are wanted: names or globs; a name or glob that fits none is an error."""
    wanted = list(recorded) if topics is None else []
    for pattern in topics or ():
        fitting = [topic for topic in recorded if fnmatchcase(topic, pattern)]
        if not fitting:
            raise BadArgument(
                f"topics: {pattern!r} is not in the recording: {_among(recorded)}", argument="topics"
            )
        wanted += fitting
    left_out = tuple(exclude)
    return {
        topic: recorded[topic]
        for topic in sorted(set(wanted))
        if not any(fnmatchcase(topic, pattern) for pattern in left_out)
    }


def rename(chosen: Iterable[str], rules: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The target of each chosen topic. A rule's old name may be a glob; * in its new name is the old one."""
    chosen = list(chosen)
    targets = {topic: topic for topic in chosen}
    for old, new in rules:
        fitting = [topic for topic in chosen if fnmatchcase(topic, old)]
        if not fitting:
            raise BadArgument(f"rename: {old!r} is not replayed: {_among(chosen)}", argument="rename")
        targets |= {topic: new.replace("*", topic) for topic in fitting}
    sources: dict[str, str] = {}
    for topic, target in targets.items():
        if target in sources:
            raise BadArgument(
                f"rename: {sources[target]!r} and {topic!r} would both become {target!r}: "
                "give them different names",
                argument="rename",
            )
        sources[target] = topic
    return targets


def read_rule(text: str) -> tuple[str, str]:
    """``OLD=NEW`` as people write it."""
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise BadArgument(f"rename: {text!r} is not OLD=NEW", argument="rename")
    return old, new


def _among(topics: Iterable[str]) -> str:
    names = sorted(topics)
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"there are {', '.join(names[:12])}{more}" if names else "there is nothing"
