# SPDX-License-Identifier: Apache-2.0
"""`_topics/<topic>.json`: the settings of a recorded topic, by generation, and its types.

A replay makes the topic with them. The file is a copy of what was observed. It is replaced as a whole when that
changes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipring.errors import TopicGone, TopicNotFound

from .errors import DamagedLake, fault
from .log import replace
from .model import Json
from .validation import Number, Struct, decoded, field, plain

if TYPE_CHECKING:
    import slipring

    from .lake import Lake

SETTINGS = ("delivery", "writers", "capacity", "slots", "mode", "max_readers", "max_writers", "max_cursors")
FACTS = ("content", *SETTINGS, "created_ns")


class GenerationSettings(Struct, omit_defaults=True):
    """The settings of one generation; None if they are not known."""

    content: str | None = None
    delivery: str | None = None
    writers: str | None = None
    capacity: Number | None = None
    slots: Number | None = None
    mode: Number | None = None
    max_readers: Number | None = None
    max_writers: Number | None = None
    max_cursors: Number | None = None
    created_ns: Number | None = None


class _Topic(Struct):
    """The contents of the file."""

    generations: dict[str, GenerationSettings]
    topic: str = ""
    bus: str = ""
    types: list[str] = field(default_factory=list)


def load(lake: Lake, topic: str) -> Json:
    """Return what is known of a topic. Its types are completed from the log, which is never behind."""
    path = lake.path / "_topics" / f"{topic}.json"
    known: Json = {"topic": topic, "generations": {}}
    try:
        known |= plain(decoded(path.read_bytes(), _Topic)) | {"topic": topic}
    except FileNotFoundError:
        pass
    except OSError as error:
        raise fault(error, path) from error
    except ValueError as error:
        raise DamagedLake(
            f"{path} is damaged ({error}): remove it; the next recording writes it again"
        ) from None
    types = {kind for file in lake.state.files.values() if file.topic == topic for kind in file.types}
    known["types"] = sorted(types.union(known.get("types", ())))
    return known


def problem(path: Path) -> str | None:
    """Return why a file is damaged, or None."""
    try:
        decoded(path.read_bytes(), _Topic)
    except ValueError as error:
        return str(error)
    return None


def note(lake: Lake, bus: slipring.Bus, topic: str) -> None:
    """Write the present settings of a topic, unless it is gone."""
    try:
        stats: dict[str, Any] = bus.stats(topic)
    except (TopicNotFound, TopicGone):
        return
    generation = f"{stats['generation']:016x}"
    known = load(lake, topic)
    before = json.dumps(known, sort_keys=True)
    known["bus"] = bus.name
    known["generations"][generation] = {fact: stats[fact] for fact in FACTS if fact in stats}
    path = lake.path / "_topics" / f"{topic}.json"
    if json.dumps(known, sort_keys=True) != before or not path.exists():
        replace(path, (json.dumps(known, indent=1, sort_keys=True) + "\n").encode())
