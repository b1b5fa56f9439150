# SPDX-License-Identifier: Apache-2.0
"""Where a stream or batch begins and ends: startingOffsets, startingTimestamp, endingOffsets, endingTimestamp."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass, field

from ..errors import BadOption
from . import offsets

EARLIEST, LATEST = "earliest", "latest"
MOST_MILLISECONDS = 10**14  # the year 5138; a larger number has another unit


@dataclass(frozen=True)
class OffsetBound:
    """One end of what is read: a word for all topics, a time, or a sequence for each topic, the word for the rest."""

    option: str
    word: str = EARLIEST
    time_ns: int | None = None
    sequences: dict[str, int | str] = field(default_factory=dict, hash=False)
    generations: dict[str, int] = field(default_factory=dict, hash=False)

    def of(self, topic: str) -> int | str:
        return self.sequences.get(topic, self.word)


def by_offsets(option: str, text: str, word: str) -> OffsetBound:
    """Parse earliest, latest, {"imu": 100, "gps": "latest"}, or offsets from the progress of a query."""
    if text.strip().lower() in (EARLIEST, LATEST):
        return OffsetBound(option, text.strip().lower())
    try:
        raw = json.loads(text)
    except ValueError:
        raw = None
    if not isinstance(raw, dict):
        raise BadOption(
            option, f'{text!r} is not earliest, latest, or JSON such as {{"imu": 100, "gps": "latest"}}'
        )
    if "slipring" in raw:
        found = offsets.load(raw, f"option {option}")
        generations = {topic: at.generation for topic, at in found.items()}
        return OffsetBound(option, word, None, {topic: at.next for topic, at in found.items()}, generations)
    for topic, at in raw.items():
        is_sequence = isinstance(at, int) and not isinstance(at, bool) and 0 <= at < offsets.MOST
        if not is_sequence and at not in (EARLIEST, LATEST):
            raise BadOption(option, f"{at!r} of topic {topic!r} is not a sequence, earliest or latest")
    return OffsetBound(option, word, None, raw)


def by_time(option: str, text: str) -> OffsetBound:
    """Parse milliseconds since 1970, or ISO 8601 with a time zone."""
    if text.strip().isdigit():
        milliseconds = int(text)
        if milliseconds > MOST_MILLISECONDS:
            raise BadOption(
                option, f"{text} is too large for milliseconds since 1970: convert its unit, or write a date"
            )
        return OffsetBound(option, LATEST, milliseconds * 10**6)
    try:
        moment = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadOption(
            option,
            f"{text!r} is not a time: write milliseconds since 1970, or a date such as 2026-01-31T12:00:00Z",
        ) from None
    if moment.tzinfo is None:
        raise BadOption(option, f"{text!r} has no time zone: add Z for UTC, or an offset such as +01:00")
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return OffsetBound(option, LATEST, (moment - epoch) // datetime.timedelta(microseconds=1) * 1000)
