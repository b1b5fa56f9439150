# SPDX-License-Identifier: Apache-2.0
"""`_topics/<topic>.json`: how a recorded topic was set up, generation by generation, and which types it
carried.

So a replay can make the topic as it was. The file is a copy of what was seen; it is written again when there
is more.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slipring.errors import TopicGone, TopicNotFound

from .errors import DamagedLake, fault
from .log import place_whole
from .model import Json
from .validation import parsed

if TYPE_CHECKING:
    import slipring

    from .directory import Lake

SETTINGS = ("delivery", "writers", "capacity", "slots", "mode", "max_readers", "max_writers", "max_cursors")
FACTS = ("content", *SETTINGS, "created_ns")


def load(lake: Lake, topic: str) -> Json:
    """What is known of a topic; types from the log, which is never behind."""
    path = lake.path / "_topics" / f"{topic}.json"
    known: Json = {"topic": topic, "generations": {}}
    try:
        found = parsed(path.read_bytes())
        if not isinstance(found, dict) or not isinstance(found.get("generations"), dict):
            raise ValueError("it has no generations")
        known |= found
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


def note(lake: Lake, bus: slipring.Bus, topic: str) -> None:
    """Write down how the topic is set up now, unless it is gone."""
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
        place_whole(path, (json.dumps(known, indent=1, sort_keys=True) + "\n").encode(), replace=True)
