# SPDX-License-Identifier: Apache-2.0
"""A stage: a directory in which files are written before they are committed.

Its files are `topic=…/date=…/….parquet`. Stages of killed writers are never committed. The next process that holds the
same lock removes them.
"""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import DamagedLake
from .model import File

if TYPE_CHECKING:
    from .lake import Lake

PARTITION = re.compile(r"topic=(?P<topic>[^/]+)/date=(?P<date>\d{4}-\d\d-\d\d)/[^/]+\.parquet")


class Stage:
    """A new stage of a lake. `purpose` is the lock that protects it: "record" or "compact"."""

    def __init__(self, lake: Lake, purpose: str) -> None:
        self.path = new_stage_path(lake.path, purpose)

    def files(self) -> list[File]:
        """Return the files in it that have rows, as the log describes them."""
        found = [file_entry(self.path, path, sync=True) for path in sorted(self.path.rglob("*.parquet"))]
        return [file for file in found if file is not None]

    def remove(self) -> None:
        """Remove it, after its files were moved or are not needed."""
        shutil.rmtree(self.path, ignore_errors=True)


def new_stage_path(lake: Path, purpose: str) -> Path:
    """Return the path of a new stage; nothing is created yet."""
    return lake / "_staging" / f"{purpose}-{uuid.uuid4().hex[:16]}"


def file_entry(stage: Path, path: Path, *, sync: bool) -> File | None:
    """Return a file in a stage as the log describes it, or None if it has no rows. sync: force it to disk."""
    inside = path.relative_to(stage).as_posix()
    match = PARTITION.fullmatch(inside)
    if match is None:
        raise DamagedLake(f"{path} is not in a partition of topic and date: remove it")
    from .file_facts import FileFacts, checksum  # pyarrow is not loaded for commands that only read the log

    with FileFacts(path) as facts:
        if not facts.rows:
            return None
        first_time_ns, last_time_ns = facts.times()
        return File(
            path=f"messages/topic={match['topic']}/date={match['date']}/{stage.name}-{path.name}",
            staged=f"_staging/{stage.name}/{inside}",
            topic=match["topic"],
            date=match["date"],
            rows=facts.rows,
            bytes=path.stat().st_size,
            crc32=checksum(path, sync=sync),
            runs=tuple(facts.runs()),
            first_time_ns=first_time_ns,
            last_time_ns=last_time_ns,
            types=tuple(facts.types()),
        )


def leftovers(lake: Lake, purpose: str) -> Iterator[Path]:
    """Yield stages of earlier processes. The caller holds the lock of that purpose, and has rolled forward."""
    for path in sorted((lake.path / "_staging").iterdir()):
        if path.name.startswith(f"{purpose}-"):
            yield path


def sweep(lake: Lake, purpose: str) -> int:
    """Remove these stages, and return their number."""
    found = list(leftovers(lake, purpose))
    for path in found:
        shutil.rmtree(path, ignore_errors=True)
    return len(found)
