# SPDX-License-Identifier: Apache-2.0
"""Where a recording ends, told to the running query: it takes what is before, and then has nothing more to do.

So a query is never stopped in the middle of a batch, and a recording of three seconds has the messages of three
seconds. `_checkpoint/<session>.ends` is written when the end is decided; the source looks at it before each batch.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..lake import Lake

Ends = dict[str, tuple[str, int]]  # topic: generation, and the offset at which the recording ends on it


def path_of(lake: Lake, session: str) -> Path:
    return lake.path / "_checkpoint" / f"{session}.ends"


def save_ends(path: Path, ends: Ends) -> None:
    """Whole or not at all."""
    temporary = path.with_suffix(".ends-new")
    temporary.write_text(json.dumps(ends))
    os.replace(temporary, path)


def load_ends(path: Path) -> Ends | None:
    """None: the recording goes on."""
    try:
        return {topic: (generation, end) for topic, (generation, end) in json.loads(path.read_text()).items()}
    except FileNotFoundError:
        return None


def ended(start: dict[str, Any], found: dict[str, Any], ends: Ends) -> dict[str, Any]:
    """The offsets `found` for the batch after `start`, none beyond the end. A topic that came after it is left out."""
    topics = {}
    for topic, at in found["topics"].items():
        before = start["topics"].get(topic)
        generation, end = ends.get(topic, ("", 0))
        same = before is not None and before["generation"] == at["generation"]
        if generation != at["generation"]:
            if same:
                topics[topic] = at  # of an earlier topic of that name: all of it is before the end
            elif before is not None:
                topics[topic] = before
            continue
        lowest = before["next"] if same else at["origin"]
        topics[topic] = at | {"next": max(lowest, min(at["next"], end))}
    return found | {"topics": topics}
