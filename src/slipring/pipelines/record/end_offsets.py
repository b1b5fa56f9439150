# SPDX-License-Identifier: Apache-2.0
"""The offsets at which a recording ends, in a file that the running query reads before each batch.

The query reads messages before the end, and then has nothing more to do. So it is never stopped in the middle of a
batch, and a recording of three seconds has the messages of three seconds. The file is `_checkpoint/<session>.ends`. It
is written as soon as the end is known.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..lake import DamagedLake, Lake
from ..lake.validation import Generation, Number, decoded

EndOffsets = dict[str, tuple[str, int]]  # topic: generation, and the offset at which the recording ends on it


def path_of(lake: Lake, session: str) -> Path:
    return lake.path / "_checkpoint" / f"{session}.ends"


def save_end_offsets(path: Path, ends: EndOffsets) -> None:
    """Replace the file as a whole."""
    temporary = path.with_suffix(".ends-new")
    temporary.write_text(json.dumps(ends))
    os.replace(temporary, path)


def load_end_offsets(path: Path) -> EndOffsets | None:
    """Return the end of the recording, or None while it goes on."""
    try:
        return decoded(path.read_bytes(), dict[str, tuple[Generation, Number]])
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise DamagedLake(
            f"{path} is damaged ({error}): remove it, and run the same command again to go on"
        ) from None


def clipped(start: dict[str, Any], found: dict[str, Any], ends: EndOffsets) -> dict[str, Any]:
    """Return the offsets `found` for the batch after `start`, none of them beyond the end.

    A topic that was made after the end is left out."""
    topics = {}
    for topic, at in found["topics"].items():
        before = start["topics"].get(topic)
        generation, end = ends.get(topic, ("", 0))
        same = before is not None and before["generation"] == at["generation"]
        if generation != at["generation"]:
            if same:
                topics[topic] = at  # an earlier topic of that name: all of it is before the end
            elif before is not None:
                topics[topic] = before
            continue
        lowest = before["next"] if same else at["origin"]
        topics[topic] = at | {"next": max(lowest, min(at["next"], end))}
    return found | {"topics": topics}
