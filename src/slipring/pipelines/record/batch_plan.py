# SPDX-License-Identifier: Apache-2.0
"""What a micro-batch was to bring, and whether its files do.

Spark writes down the offsets of a batch before it runs it. That is the plan, whatever tasks return: what their files
cover has to be exactly that. Offsets that are missing were lost with their topic, if that is gone, and are recorded as
a hole; if the topic is there, a task did not read it, and the batch is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import slipring
from slipring._bus.ranges import Ranges
from slipring.errors import TopicGone, TopicNotFound

from ..errors import IncompleteBatch
from ..lake.model import File, Run, join

if TYPE_CHECKING:
    from slipring.spark.source.offsets import Position


@dataclass(frozen=True)
class Piece:
    """Offsets of one generation of a topic."""

    topic: str
    generation: str  # 16 hexadecimal digits
    first: int
    end: int

    def __str__(self) -> str:
        return (
            f"offsets {self.first} to {self.end - 1} of topic {self.topic!r} (generation {self.generation})"
        )


def planned(checkpoint: Path, batch: int) -> list[Piece]:
    """The offsets that Spark's checkpoint has for a batch; IncompleteBatch when it does not tell."""
    from slipring.spark.source import offsets

    end = _logged(checkpoint, batch)
    start = _logged(checkpoint, batch - 1) if batch else {}
    found = []
    for topic, at in end.items():
        first = offsets.beginning(start.get(topic), at)
        if first < at.next:
            found.append(Piece(topic, f"{at.generation:016x}", first, at.next))
    return found


def missing(plan: Iterable[Piece], files: Iterable[File]) -> list[Piece]:
    """What of the plan the files do not cover; IncompleteBatch when they hold anything else, or something twice."""
    covered: dict[str, list[Run]] = {}
    for file in files:
        covered.setdefault(file.topic, []).extend(file.runs)
    left = [(topic, run) for topic, runs in covered.items() for run in join(runs)]
    found: list[Piece] = []
    for piece in plan:
        own = [(topic, run) for topic, run in left if _is_in(piece, topic, run)]
        following = piece.first
        for _, run in own:
            if run.first < following:
                break  # twice: what is left tells
            if run.first > following:
                found.append(Piece(piece.topic, piece.generation, following, run.first))
            following = run.end
        else:
            if following < piece.end:
                found.append(Piece(piece.topic, piece.generation, following, piece.end))
            left = [one for one in left if one not in own]
    if left:
        topic, run = left[0]
        raise IncompleteBatch(
            f"its files hold {Piece(topic, run.generation, run.first, run.end)}, not as planned"
        )
    return found


def _is_in(piece: Piece, topic: str, run: Run) -> bool:
    same = topic == piece.topic and run.generation == piece.generation
    return same and piece.first <= run.first and run.end <= piece.end


def is_there(bus: slipring.Bus, topic: str, generation: str) -> bool:
    """Whether the topic is on the bus, and of that generation."""
    try:
        with Ranges(bus, topic) as ranges:
            return f"{ranges.generation:016x}" == generation
    except (TopicNotFound, TopicGone):
        return False


def _logged(checkpoint: Path, batch: int) -> dict[str, Position]:
    """The offsets at which a batch ends: the third line of Spark's file, as there is one source."""
    from slipring.spark.source import offsets

    path = checkpoint / "offsets" / str(batch)
    try:
        return offsets.load(json.loads(path.read_text().splitlines()[2]), str(path))
    except (OSError, ValueError, IndexError) as error:
        raise IncompleteBatch(f"Spark's {path} does not tell what it was to bring ({error})") from error
