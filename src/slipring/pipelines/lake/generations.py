# SPDX-License-Identifier: Apache-2.0
"""The contents of a lake by topic and generation, from the log."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from .model import File, Json, Run, join

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .lake import Lake


@dataclass
class Generation:
    """One generation of a topic: from its creation to its removal, or to the next boot."""

    topic: str
    generation: str
    runs: list[Run] = field(default_factory=list)  # several if the topic was not recorded all the time
    messages: int = 0
    lost: int = 0
    abandoned: int = 0
    files: int = 0
    bytes: int = 0
    first_time_ns: int | None = None
    last_time_ns: int | None = None
    types: list[str] = field(default_factory=list)

    def to_json(self) -> Json:
        runs = [{"first": run.first, "end": run.end} for run in self.runs]
        return asdict(self) | {"runs": runs}


def contents(lake: Lake, topics: Iterable[str] | None = None) -> list[Generation]:
    """Return the generations of the lake's topics, in order of topic and time."""
    files: dict[tuple[str, str], list[File]] = defaultdict(list)
    for file in lake.files(topics):
        for generation in sorted({run.generation for run in file.runs}):
            files[file.topic, generation].append(file)
    found = [_generation(topic, generation, some) for (topic, generation), some in files.items()]
    return sorted(found, key=lambda one: (one.topic, one.first_time_ns or 0, one.generation))


def _generation(topic: str, generation: str, files: list[File]) -> Generation:
    runs = [run for file in files for run in file.runs if run.generation == generation]
    firsts = [file.first_time_ns for file in files if file.first_time_ns is not None]
    lasts = [file.last_time_ns for file in files if file.last_time_ns is not None]
    return Generation(
        topic,
        generation,
        runs=join(runs),
        messages=sum(run.messages for run in runs),
        lost=sum(run.lost for run in runs),
        abandoned=sum(run.abandoned for run in runs),
        files=len(files),
        bytes=sum(file.bytes for file in files),
        first_time_ns=min(firsts, default=None),
        last_time_ns=max(lasts, default=None),
        types=sorted({kind for file in files for kind in file.types}),
    )
