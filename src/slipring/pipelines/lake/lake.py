# SPDX-License-Identifier: Apache-2.0
"""Lake: a directory with a recording, and the log that names what belongs to it.

Order of a commit: files are staged; the log entry is linked, which makes them part of the recording; they are moved
into place; files that they replace are taken out of `messages/`. The next process that opens the lake finishes the
moves of a killed one. A file that the log does not name is not part of the recording. docs/spec/lake.md is the
specification.
"""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from slipring.errors import BadArgument

from . import held, kill_points, marker
from .errors import DamagedLake, fault
from .local_path import local
from .log import Log
from .marker import Marker
from .model import File, Json, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from slipring._bus.schema.topic_schema import Schema


class Lake:
    """A recording on disk.

    >>> lake = Lake.open("lake/")
    >>> lake.read(spark, topics=["imu"]).show()
    """

    def __init__(self, path: Path, found: Marker) -> None:
        self.path = path
        self.id = found.id
        self.table = found.table
        try:
            self.log = Log(path / "_log")
        except OSError as error:
            raise fault(error, path / "_log") from error
        self.roll_forward()

    @classmethod
    def create(cls, path: str | os.PathLike[str], *, table: str = "parquet") -> Lake:
        """Make a lake in a new or empty directory, or open an existing one."""
        where = local(path, "to")
        return cls(where, marker.make(where, table))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Lake:
        """Open an existing lake; NotALake or DamagedLake if there is none."""
        where = local(path, "lake")
        return cls(where, marker.read(where))

    @property
    def state(self) -> State:
        return self.log.state

    def refresh(self) -> State:
        """Read what other processes committed meanwhile, and return the state."""
        self.log.refresh()
        return self.log.state

    # Writing

    def begin(self, about: Json) -> str:
        """Begin a session, and return its id, which is also the name of its checkpoint."""
        session = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{uuid.uuid4().hex[:6]}"
        entry = {"kind": "session", "session": session, "time_ns": time.time_ns(), "about": about}
        self.log.append(lambda _: entry)
        return session

    def end(self, session: str) -> None:
        """End a session: the next recording begins another one."""
        entry = {"kind": "end", "session": session, "time_ns": time.time_ns()}
        self.log.append(lambda state: None if state.sessions[session].finished else entry)

    def committed(self, session: str, batch: int) -> bool:
        """Whether the batch is part of the recording."""
        return batch <= self.refresh().sessions[session].last_batch

    def commit(self, session: str, batch: int, files: Sequence[File]) -> bool:
        """Make staged files part of the recording; return False if the batch is part of it already."""
        if session not in self.refresh().sessions:
            raise BadArgument(f"the lake has no session {session!r}: begin one first", argument="session")
        entry = {"kind": "batch", "session": session, "batch": batch, "time_ns": time.time_ns()}
        # defect lake_moved_before_commit: self.move(files)
        #     entry["add"] = [file.to_json() for file in files]
        entry["add"] = [file.to_json() for file in files]
        # defect lake_batch_committed_twice: number = self.log.append(lambda state: entry)
        number = self.log.append(lambda state: None if batch <= state.sessions[session].last_batch else entry)
        if number is None:
            return False
        kill_points.reached("entry linked")
        self.move(files)
        kill_points.reached("batch committed")
        return True

    def add_holes(self, session: str, files: Sequence[File]) -> None:
        """Add holes that no batch of Spark's has, in an entry with the number of the session's last batch."""
        entry = {"kind": "batch", "session": session, "time_ns": time.time_ns()}
        entry["add"] = [file.to_json() for file in files]

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
                continue  # another process moved it; if the file is missing, its readers notice
            except OSError as error:
                raise fault(error, target) from error
            kill_points.reached("file moved")

    def check_inside(self, target: Path) -> None:
        """DamagedLake if a link leads out of the lake: nothing is written through links in a foreign recording."""
        # defect lake_move_through_link: if False:
        if not target.parent.resolve().is_relative_to(self.path.resolve()):
            raise DamagedLake(f"{target.parent} leads out of the lake: remove that link")

    def roll_forward(self) -> None:
        """Finish the moves of a process that was killed after its commit."""
        stages = set(os.listdir(self.path / "_staging"))
        # defect lake_moves_not_finished: if not stages and os.access(self.path / "_staging", os.W_OK):
        if stages and os.access(self.path / "_staging", os.W_OK):
            self.move(file for file in self.state.files.values() if file.staged.split("/")[1] in stages)
        if self.state.replaced and os.access(self.path / "messages", os.W_OK):
            self.hide_replaced()

    def hide_replaced(self) -> None:
        """Take replaced files out of `messages/`, which other programs list.

        In a Delta table they stay: its log names the replaced files, and readers of older versions need them."""
        if self.table == "delta":
            return
        for path in self.state.replaced:
            if (self.path / path).exists():
                held.hide(self, path)

    # Reading

    def files(
        self, topics: Iterable[str] | None = None, since_ns: int | None = None, until_ns: int | None = None
    ) -> list[File]:
        """Return the files that can have rows of these topics and times, in order of topic and offset."""
        wanted = None if topics is None else set(topics)
        found = [file for file in self.state.files.values() if wanted is None or file.topic in wanted]
        found = [file for file in found if file.may_hold(since_ns, until_ns)]
        return sorted(found, key=lambda file: (file.topic, file.runs[0].generation, file.runs[0].first))

    def rows(self) -> int:
        """Return the number of rows in the recording."""
        return sum(file.rows for file in self.state.files.values())

    def where(self, file: File) -> Path:
        """Return the present path of a file; DamagedLake if it is missing."""
        for path in (file.path, file.staged, held.path_of(file.path)):
            if (self.path / path).exists():
                return self.path / path
        raise DamagedLake(
            f"{self.path / file.path} is missing: restore it from a copy; `slipring lake verify {self.path}` "
            "lists all that is missing"
        )

    def held(self, file: File) -> Path:
        """Return a path under which a file can be read even after it is replaced; without write permission, its
        present path."""
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
        *,
        decode: bool = False,
        mode: str = "FAILFAST",
    ) -> DataFrame:
        """Return the recording as a DataFrame: messages and holes (value is NULL), in no particular order.

        since_ns, until_ns: the first time, and the time after the last one. The time of a hole is the time at which
        it was noticed. decode: the messages alone, with a column for each field of their schema, which all topics have
        to share; SchemaMismatch names topics and field otherwise. mode: for bodies that do not fit their schema,
        "FAILFAST" ends the query with an error, "PERMISSIVE" gives them NULL fields, "DROPMALFORMED" leaves them
        out."""
        from .reading import read

        return read(self, spark, topics, since_ns, until_ns, decode, mode)

    def register(
        self, spark: SparkSession, topics: Iterable[str] | None = None, *, prefix: str = ""
    ) -> list[str]:
        """Make a temporary view for each topic, and return their names: prefix and topic. For names with dots or
        hyphens SQL needs backquotes.

        A typed topic has a column for each field, as with `decode`; the view of an untyped one has the rows of
        `read`."""
        from .topics.views import register

        return register(self, spark, topics, prefix)

    def schemas(self, topic: str) -> dict[str, Schema]:
        """Return the schema of each typed generation of a recorded topic, the oldest first; Corrupt names a damaged
        file."""
        from .topics.selection import schemas_of

        return schemas_of(self, topic)

    def _repr_html_(self) -> str:
        """For a notebook."""
        from ..notebook_html import of_lake
        from .generations import contents

        return of_lake(str(self.path), contents(self))
