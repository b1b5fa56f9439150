# SPDX-License-Identifier: Apache-2.0
"""A stage: a directory in which files are written before they are committed.

Files in it are `topic=…/date=…/….parquet`. What a killed writer left in a stage is never committed, and is
removed by the next process that has the same lock.
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
    from .directory import Lake

PARTITION = re.compile(r"topic=(?P<topic>[^/]+)/date=(?P<date>\d{4}-\d\d-\d\d)/[^/]+\.parquet")


class Stage:
    """A new stage of a lake; `purpose` is whose lock covers it: "record" or "compact"."""

    def __init__(self, lake: Lake, purpose: str) -> None:
        self.path = new_place(lake.path, purpose)

    def files(self) -> list[File]:
        """What was written into it, as the log will name it."""
        found = [described(self.path, path, sync=True) for path in sorted(self.path.rglob("*.parquet"))]
        return [file for file in found if file.rows]

    def remove(self) -> None:
        """After its files were moved, or when they are not wanted."""
        shutil.rmtree(self.path, ignore_errors=True)


def new_place(lake: Path, purpose: str) -> Path:
    """Where a stage may be; nothing is made there yet."""
    return lake / "_staging" / f"{purpose}-{uuid.uuid4().hex[:16]}"


def described(stage: Path, path: Path, *, sync: bool) -> File:
    """A file in a stage as the log names it; with sync it is on disk when this returns."""
    inside = path.relative_to(stage).as_posix()
    match = PARTITION.fullmatch(inside)
    if match is None:
        raise DamagedLake(f"{path} is in no partition of topic and date: remove it")
    from .file_facts import Facts, checksum  # pyarrow is not loaded by those who only look at the log

    with Facts(path) as facts:
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
    """Stages of earlier processes; whoever asks holds the lock of that purpose, and has rolled forward."""
    for path in sorted((lake.path / "_staging").iterdir()):
        if path.name.startswith(f"{purpose}-"):
            yield path


def sweep(lake: Lake, purpose: str) -> int:
    """Remove them; how many there were."""
    found = list(leftovers(lake, purpose))
    for path in found:
        shutil.rmtree(path, ignore_errors=True)
    return len(found)
