# SPDX-License-Identifier: Apache-2.0
"""Lake: a directory that holds a recording, and the log that says what belongs to it.

Commit order: files are staged, the log entry is linked (from here on they are part of the recording), the
files are moved into place, and files that they replace are taken out of `messages/`. Whoever opens the lake
finishes the moves of one that died in between. A file that the log does not name is not part of the recording.
docs/spec/lake.md has the whole.
"""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from slipring.errors import BadArgument

from . import held
from . import kill_points as places
from . import marker as mark
from .errors import DamagedLake, fault
from .local_path import local
from .log import Log
from .model import File, Json, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession


class Lake:
    """A recording on disk.

    >>> lake = Lake.open("lake/")
    >>> lake.read(spark, topics=["imu"]).show()
    """

    def __init__(self, path: Path, about: Json) -> None:
        self.path = path
        self.id: str = about["id"]
        self.table: str = about["table"]  # "parquet" or "delta"
        try:
            self.log = Log(path / "_log")
        except OSError as error:
            raise fault(error, path / "_log") from error
        self.roll_forward()

    @classmethod
    def create(cls, path: str | os.PathLike[str], *, table: str = "parquet") -> Lake:
        """Make a lake in a directory that is new or empty, or open the one that is there."""
        where = local(path, "to")
        return cls(where, mark.make(where, table))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Lake:
        """Open a lake that is there; NotALake or DamagedLake otherwise."""
        where = local(path, "lake")
        return cls(where, mark.read(where))

    @property
    def state(self) -> State:
        return self.log.state

    def refresh(self) -> State:
        """See what others committed meanwhile."""
        self.log.refresh()
        return self.log.state

    # Writing

    def begin(self, about: Json) -> str:
        """A new session; its id is also the name of its checkpoint."""
        session = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{uuid.uuid4().hex[:6]}"
        entry = {"kind": "session", "session": session, "time_ns": time.time_ns(), "about": about}
        self.log.append(lambda _: entry)
        return session

    def end(self, session: str) -> None:
        """The session is finished: the next recording is another one."""
        entry = {"kind": "end", "session": session, "time_ns": time.time_ns()}
        self.log.append(lambda state: None if state.sessions[session].finished else entry)

    def committed(self, session: str, batch: int) -> bool:
        """Whether that batch is in the recording."""
        return batch <= self.refresh().sessions[session].last_batch

    def commit(self, session: str, batch: int, files: Sequence[File]) -> bool:
        """Make staged files part of the recording; False when that batch is part of it already."""
        if session not in self.refresh().sessions:
            raise BadArgument(f"the lake has no session {session!r}: begin one", argument="session")
        entry = {"kind": "batch", "session": session, "batch": batch, "time_ns": time.time_ns()}
        # defect lake_moved_before_commit: self.move(files)
        #     entry["add"] = [asdict(file) for file in files]
        entry["add"] = [asdict(file) for file in files]
        # defect lake_batch_committed_twice: number = self.log.append(lambda state: entry)
        number = self.log.append(lambda state: None if batch <= state.sessions[session].last_batch else entry)
        if number is None:
            return False
        places.reached("entry linked")
        self.move(files)
        places.reached("batch committed")
        return True

    def add_holes(self, session: str, files: Sequence[File]) -> None:
        """Holes that no batch of Spark's can bring: an entry with the number of the session's last batch."""
        entry = {"kind": "batch", "session": session, "time_ns": time.time_ns()}
        entry["add"] = [asdict(file) for file in files]

        def of_the_last(state: State) -> Json | None:
            found = state.sessions[session]
            return None if found.finished else entry | {"batch": found.last_batch}

        if self.log.append(of_the_last) is not None:
            self.move(files)

    def move(self, files: Iterable[File]) -> None:
        """Move committed files into place. Several processes may do it at once."""
        for file in files:
            target, staged = self.path / file.path, self.path / file.staged
            if target.exists():
                continue
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                self.check_inside(target)
                os.rename(staged, target)
            except FileNotFoundError:
                continue  # another process was faster; a file that is gone is found by whoever reads it
            except OSError as error:
                raise fault(error, target) from error
            places.reached("file moved")

    def check_inside(self, target: Path) -> None:
        """A recording of somebody else's may have links for directories: nothing is written through them."""
        # defect lake_move_through_link: if False:
        if not target.parent.resolve().is_relative_to(self.path.resolve()):
            raise DamagedLake(f"{target.parent} leads out of the lake: remove that link")

    def roll_forward(self) -> None:
        """Finish the moves of a process that died after its commit."""
        stages = set(os.listdir(self.path / "_staging"))
        # defect lake_moves_not_finished: if not stages and os.access(self.path / "_staging", os.W_OK):
        if stages and os.access(self.path / "_staging", os.W_OK):
            self.move(file for file in self.state.files.values() if file.staged.split("/")[1] in stages)
        if self.state.replaced and os.access(self.path / "messages", os.W_OK):
            self.hide_replaced()

    def hide_replaced(self) -> None:
        """Take replaced files out of `messages/`, where other programs look. Readers of a Delta table know by its
        log what was replaced, and those of an older version still need it: there the files stay."""
        if self.table == "delta":
            return
        for path in self.state.replaced:
            if (self.path / path).exists():
                held.hide(self, path)

    # Reading

    def files(
        self, topics: Iterable[str] | None = None, since_ns: int | None = None, until_ns: int | None = None
    ) -> list[File]:
        """The files of the recording that can hold what is asked for, in order of topic and offset."""
        wanted = None if topics is None else set(topics)
        found = [file for file in self.state.files.values() if wanted is None or file.topic in wanted]
        found = [file for file in found if file.may_hold(since_ns, until_ns)]
        return sorted(found, key=lambda file: (file.topic, file.runs[0].generation, file.runs[0].first))

    def where(self, file: File) -> Path:
        """Where a file of the recording lies."""
        for place in (file.path, file.staged, held.place_of(file.path)):
            if (self.path / place).exists():
                return self.path / place
        raise DamagedLake(
            f"{self.path / file.path} is missing: restore it from a copy; `slipring lake verify {self.path}` "
            "lists all that is missing"
        )

    def held(self, file: File) -> Path:
        """Where a file can be read, also by who reads it only after it was replaced; in a lake that may only be read,
        where it is now."""
        try:
            return held.hold(self, file.path)
        except OSError:
            return self.where(file)

    def read(
        self,
        spark: SparkSession,
        topics: Iterable[str] | None = None,
        since_ns: int | None = None,
        until_ns: int | None = None,
    ) -> DataFrame:
        """The recording as a DataFrame: messages and holes (value is NULL), in no particular order.

        since_ns, until_ns: from when on, and until before when, in nanoseconds; a hole counts by the time at
        which it was found."""
        from .reading import read

        return read(self, spark, topics, since_ns, until_ns)

    def _repr_html_(self) -> str:
        """The topics, for a notebook."""
        from slipring.pipelines.notebook import of_lake

        return of_lake(self)
