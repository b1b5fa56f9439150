# SPDX-License-Identifier: Apache-2.0
"""`_topics/<topic>.json`: the settings of a recorded topic, by generation, with the hash of its schema, and its types.

A replay makes the topic with them. The file is a copy of what was observed. It is replaced as a whole when that
changes. Several processes of a recording observe topics: a lock orders their changes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipring._bus.ranges import RangeReader
from slipring.errors import TopicGone, TopicNotFound

from ..errors import DamagedLake, fault
from ..locks import lock
from ..log import replace
from ..model import Json
from ..validation import Number, SchemaHash, Struct, decoded, field, plain
from . import schema_files

if TYPE_CHECKING:
    import slipring

    from ..lake import Lake

SETTINGS = ("delivery", "writers", "capacity", "slots", "mode", "max_readers", "max_writers", "max_cursors")
REMEDY = "restore it from a copy, or remove it: the next recording writes what the topic is then"
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
    schema: SchemaHash | None = None  # of a typed topic: schema_files.py


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
        raise DamagedLake(f"{path} is damaged ({error}): {REMEDY}") from None
    types = {kind for file in lake.state.files.values() if file.topic == topic for kind in file.types}
    known["types"] = sorted(types.union(known.get("types", ())))
    return known


def checked(path: Path) -> dict[str, GenerationSettings]:
    """Return the settings in a file, by generation; ValueError states why it is damaged."""
    return decoded(path.read_bytes(), _Topic).generations


def note(lake: Lake, bus: slipring.Bus, topic: str) -> None:
    """Write the present settings of a topic and its schema, unless it is gone."""
    found = _observed(bus, topic)
    if found is None:
        return
    stats, schema = found
    seen = {fact: stats[fact] for fact in FACTS if fact in stats}
    if schema is not None:
        seen["schema"] = schema_files.keep(lake, schema)
    generation = f"{stats['generation']:016x}"
    path = lake.path / "_topics" / f"{topic}.json"
    if path.exists() and _changed(load(lake, topic), bus, generation, seen) is None:
        return
    with lock(lake, "topics", wait=True):
        known = _changed(load(lake, topic), bus, generation, seen)
        if known is not None or not path.exists():
            text = json.dumps(known or load(lake, topic), indent=1, sort_keys=True)
            replace(path, f"{text}\n".encode())


def _observed(bus: slipring.Bus, topic: str) -> tuple[dict[str, Any], bytes | None] | None:
    """Return facts and schema of one generation of a topic; None if it is gone."""
    while True:
        try:
            with RangeReader(bus, topic) as reader:
                stats: dict[str, Any] = bus.stats(topic)
                if stats["generation"] == reader.generation:  # it was not created again in between
                    return stats, reader.schema
        except (TopicNotFound, TopicGone):
            return None


def _changed(known: Json, bus: slipring.Bus, generation: str, seen: Json) -> Json | None:
    """Return what is known with what was seen; None if nothing is new."""
    before = json.dumps(known, sort_keys=True)
    known["bus"] = bus.name
    known["generations"][generation] = seen
    return known if json.dumps(known, sort_keys=True) != before else None
