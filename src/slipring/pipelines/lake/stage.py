# SPDX-License-Identifier: Apache-2.0
"""A stage: a directory in which files are written before they are committed.

Spark writes `topic=…/date=…/part-….parquet` into it. What a killed writer left in a stage is never committed,
and is removed by the next process that has the same lock.
"""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import DamagedLake
from .facts import Facts, checksum
from .model import File

if TYPE_CHECKING:
    from .directory import Lake

PARTITION = re.compile(r"topic=(?P<topic>[^/]+)/date=(?P<date>\d{4}-\d\d-\d\d)/[^/]+\.parquet")


class Stage:
    """A new stage of a lake; `purpose` is whose lock covers it: "record" or "compact"."""

    def __init__(self, lake: Lake, purpose: str) -> None:
        self.lake = lake
        self.name = f"{purpose}-{uuid.uuid4().hex[:16]}"
        self.path = lake.path / "_staging" / self.name

    def files(self, *, sync: bool = True) -> list[File]:
        """What was written into it, as the log will name it."""
        written = sorted(
            path for path in self.path.rglob("*.parquet") if not path.name.startswith((".", "_"))
        )
        with ThreadPoolExecutor(2) as crew:
            found = crew.map(lambda numbered: self._file(*numbered, sync=sync), enumerate(written))
            return [file for file in found if file.rows]

    def _file(self, number: int, path: Path, *, sync: bool) -> File:
        inside = path.relative_to(self.path).as_posix()
        match = PARTITION.fullmatch(inside)
        if match is None:
            raise DamagedLake(f"{path} is in no partition of topic and date: remove it")
        with Facts(path) as facts:
            first_time_ns, last_time_ns = facts.times()
            return File(
                path=f"messages/topic={match['topic']}/date={match['date']}/{self.name}-{number:04d}.parquet",
                staged=f"_staging/{self.name}/{inside}",
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

    def remove(self) -> None:
        """After its files were moved, or when they are not wanted."""
        shutil.rmtree(self.path, ignore_errors=True)


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
