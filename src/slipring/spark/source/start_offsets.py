# SPDX-License-Identifier: Apache-2.0
"""Where a stream or a batch begins and ends: startingOffsets, startingTimestamp, endingOffsets,
endingTimestamp."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass, field

from ..errors import BadOption
from . import offsets

EARLIEST, LATEST = "earliest", "latest"
MOST_MILLISECONDS = 10**14  # the year 5138: a larger number was meant as something else


@dataclass(frozen=True)
class Place:
    """One word for all topics, a time, or sequences by topic (topics not among them: the word)."""

    option: str
    word: str = EARLIEST
    time_ns: int | None = None
    sequences: dict[str, int | str] = field(default_factory=dict, hash=False)
    generations: dict[str, int] = field(default_factory=dict, hash=False)

    def of(self, topic: str) -> int | str:
        return self.sequences.get(topic, self.word)


def by_offsets(option: str, text: str, word: str) -> Place:
    """earliest, latest, {"imu": 100, "gps": "latest"}, or offsets as a query's progress shows them."""
    if text.strip().lower() in (EARLIEST, LATEST):
        return Place(option, text.strip().lower())
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
        return Place(option, word, None, {topic: at.next for topic, at in found.items()}, generations)
    for topic, at in raw.items():
        is_sequence = isinstance(at, int) and not isinstance(at, bool) and 0 <= at < offsets.MOST
        if not is_sequence and at not in (EARLIEST, LATEST):
            raise BadOption(option, f"{at!r} of topic {topic!r} is not a sequence, earliest or latest")
    return Place(option, word, None, raw)


def by_time(option: str, text: str) -> Place:
    """Milliseconds since 1970, or ISO 8601 with a zone."""
    if text.strip().isdigit():
        milliseconds = int(text)
        if milliseconds > MOST_MILLISECONDS:
            raise BadOption(
                option, f"{text} is too large for milliseconds since 1970: divide it, or write a date"
            )
        return Place(option, LATEST, milliseconds * 10**6)
    try:
        moment = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadOption(
            option, f"{text!r} is no time: write milliseconds since 1970 or 2026-01-31T12:00:00Z"
        ) from None
    if moment.tzinfo is None:
        raise BadOption(option, f"{text!r} has no zone: add Z for UTC, or an offset such as +01:00")
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return Place(option, LATEST, (moment - epoch) // datetime.timedelta(microseconds=1) * 1000)
