# SPDX-License-Identifier: Apache-2.0
"""Which part of a recording is replayed, and onto which topics. Values written by users are checked here.

A position in a recording (``start`` is the first that is replayed, ``end`` the first that is not) is written as

    "2026-11-16T04:00:00Z"   a time; without a zone, in local time
    "+12.5s" "+2m" "+1h"     a duration after the first recorded message of the chosen topics
    "imu@1000"               a sequence of one topic, which does not limit the others
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from slipring.errors import BadArgument

Position = str | int | datetime.datetime | datetime.timedelta | Mapping[str, int]
Positions = Position | Sequence[Position] | None

_AFTER = re.compile(r"\+(\d+(?:\.\d+)?)(ms|s|m|h|)")
_UNIT_NS = {"ms": 10**6, "": 10**9, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_SEQUENCE = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)@(\d+)")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Recorded:
    """One topic of the lake: its generations in order, and the time of its first message."""

    topic: str
    generations: tuple[int, ...]
    first_ns: int


@dataclass(frozen=True)
class Limits:
    """Where a replay begins or ends: a time, and sequences by topic."""

    time_ns: int | None
    sequences: Mapping[str, int]


def read_limits(argument: str, positions: Positions, chosen: Mapping[str, Recorded]) -> Limits:
    """Return the checked positions of ``argument``: at most one time, and one sequence for each topic."""
    found = [_read(argument, position, chosen) for position in _several(positions)]
    times = [position for position in found if isinstance(position, int)]
    if len(times) > 1:
        raise BadArgument(f"{argument} names {len(times)} times: give one", argument=argument)
    sequences: dict[str, int] = {}
    for position in found:
        if isinstance(position, int):
            continue
        for topic, sequence in position.items():
            _check_sequence(argument, topic, sequence, sequences, chosen)
            sequences[topic] = sequence
    return Limits(times[0] if times else None, sequences)


def _several(positions: Positions) -> Sequence[Position]:
    if positions is None:
        return ()
    if isinstance(positions, Sequence) and not isinstance(positions, str):
        return positions
    return (positions,)


def _read(argument: str, position: Position, chosen: Mapping[str, Recorded]) -> int | Mapping[str, int]:
    if isinstance(position, Mapping) or (isinstance(position, int) and not isinstance(position, bool)):
        return position
    if isinstance(position, datetime.datetime):
        return _time_ns(position)
    if isinstance(position, datetime.timedelta):
        return _first(chosen) + _whole_ns(position)
    if not isinstance(position, str):
        raise TypeError(f"{argument} must be a time, a duration or sequences, not {type(position).__name__}")
    if match := _SEQUENCE.fullmatch(position):
        return {match[1]: int(match[2])}
    if match := _AFTER.fullmatch(position):
        return _first(chosen) + round(float(match[1]) * _UNIT_NS[match[2]])
    try:
        return _time_ns(datetime.datetime.fromisoformat(position))
    except ValueError:
        hint = "write 2026-11-16T04:00:00Z, +12.5s (after the first message) or TOPIC@SEQUENCE"
        raise BadArgument(
            f"{argument}={position!r} is not a position in a recording: {hint}", argument=argument
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
        raise BadArgument(
            f"{argument}={topic}@{sequence} is not a sequence: give 0 to 2**63 - 1",
            argument=argument,
        )
    if len(chosen[topic].generations) > 1:
        often = len(chosen[topic].generations)
        raise BadArgument(
            f"{argument}={topic}@{sequence}: {topic!r} has {often} generations in the recording, so a "
            "sequence names several messages: give a time",
            argument=argument,
        )


def choose(
    recorded: Mapping[str, Recorded], topics: Iterable[str] | None, exclude: Iterable[str] = ()
) -> dict[str, Recorded]:
    """Return the recorded topics that match names or patterns; BadArgument if one matches no topic."""
    wanted = list(recorded) if topics is None else []
    for pattern in topics or ():
        matching = [topic for topic in recorded if fnmatchcase(topic, pattern)]
        if not matching:
            raise BadArgument(
                f"topics: {pattern!r} is not in the recording: {_among(recorded)}", argument="topics"
            )
        wanted += matching
    left_out = tuple(exclude)
    return {
        topic: recorded[topic]
        for topic in sorted(set(wanted))
        if not any(fnmatchcase(topic, pattern) for pattern in left_out)
    }


def rename(chosen: Iterable[str], rules: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the target of each chosen topic. The old name of a rule may be a pattern; * in the new name is the old
    name."""
    chosen = list(chosen)
    targets = {topic: topic for topic in chosen}
    for old, new in rules:
        matching = [topic for topic in chosen if fnmatchcase(topic, old)]
        if not matching:
            raise BadArgument(f"rename: {old!r} is not replayed: {_among(chosen)}", argument="rename")
        targets |= {topic: new.replace("*", topic) for topic in matching}
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
    """Return the two names of a rule, written ``OLD=NEW``."""
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise BadArgument(f"rename: {text!r} must have the form OLD=NEW", argument="rename")
    return old, new


def _among(topics: Iterable[str]) -> str:
    names = sorted(topics)
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"there are {', '.join(names[:12])}{more}" if names else "there are no topics"
