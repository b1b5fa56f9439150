# SPDX-License-Identifier: Apache-2.0
"""One batch of a recording, from Spark's plan to the commit in the log of the lake.

    1. plan      RecordingReader.latestOffset   Spark writes the offsets of the batch into its checkpoint
    2. files     RecordingReader.read           tasks write messages from the ring into Parquet files of a stage
    3. check     planned, missing               the files cover the offsets of the plan, each of them once
    4. holes     BatchWriter._holes             rows for planned offsets whose topic was removed
    5. commit    Lake.commit                    one log entry makes all files part of the recording

Spark plans, counts and releases batches as the source "slipring" does. Messages do not pass through the JVM, which
writes half as many rows or fewer (docs/design/recording-and-replay.md): a task returns one row for each file.

The plan is what Spark wrote down, whatever the tasks return. A missing offset was lost with its topic if that topic is
gone. If the topic is still there, a task did not read it: the batch is refused, and nothing of it counts.

Spark repeats a batch unless it knows that the batch was finished. The log knows, so a committed batch is skipped.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StringType, StructField, StructType

import slipring
from slipring.errors import SlipringError
from slipring.spark.source import offsets, open_topics, parsing
from slipring.spark.source.data_source import DefaultSource
from slipring.spark.source.offset_ranges import Range
from slipring.spark.source.options import SourceOptions
from slipring.spark.source.stream_reader import StreamReader
from slipring.spark.source.tasks import Task

from ..errors import IncompleteBatch, is_full
from ..lake import Lake, delta, kill_points, row_files
from ..lake.errors import fault
from ..lake.model import File, OffsetRange, Run, join
from ..lake.reading import STORED
from ..lake.stage import new_stage_path, sweep
from ..lake.topics import topic_settings
from .end_offsets import clipped, load_end_offsets
from .topic_state import is_there

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OWN_OPTIONS = ("lake", "sync", "ends")


class RecordingSource(DefaultSource):
    """The source of a recording. Its options are those of "slipring" without columns, and three of its own.

    lake: the lake to record into. sync: force files to disk before they count. ends: path of the file with the
    offsets at which the recording ends, as soon as they are known."""

    @classmethod
    def name(cls) -> str:
        return "slipring-recording"

    def schema(self) -> StructType:
        open_topics.check(self._source_options())
        return StructType([StructField("file", StringType(), True)])

    def streamReader(self, schema: StructType) -> RecordingReader:
        lake, sync, ends = (self.options[name] for name in OWN_OPTIONS)
        return RecordingReader(self._source_options().for_stream(), Path(lake), sync == "true", Path(ends))

    def _source_options(self) -> SourceOptions:
        given = {name: value for name, value in self.options.items() if name.lower() not in OWN_OPTIONS}
        return parsing.parse({**given, "columns": ",".join(STORED), "valueFormat": "raw"})


@dataclass
class RecordingTask(Task):
    """A range of offsets, and the stage of its batch."""

    stage: str = ""


class RecordingReader(StreamReader):
    def __init__(self, options: SourceOptions, lake: Path, sync: bool, ends: Path) -> None:
        super().__init__(options)
        self._lake, self._sync, self._ends = lake, sync, ends
        self._noted: set[tuple[str, int]] = (
            set()
        )  # topics and generations whose settings and schema are in the lake

    def __getstate__(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("_lake", "_sync", "_ends")}
        return {**super().__getstate__(), **own, "_noted": set()}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return where the next batch ends; Spark writes it into the checkpoint."""
        found = super().latestOffset(start, limit)
        ends = load_end_offsets(self._ends)
        return found if ends is None else clipped(start, found, ends)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        stage = str(new_stage_path(self._lake, "record"))
        tasks = [RecordingTask(**vars(task), stage=stage) for task in super().partitions(start, end)]
        # defect lake_schema_noted_late: pass
        self._note([task.piece for task in tasks])
        return tasks

    def _note(self, pieces: Iterable[Range]) -> None:
        """Save the settings and schemas of topics before a task reads the first message."""
        new = {(piece.topic, piece.generation) for piece in pieces} - self._noted
        if not new:
            return
        lake = Lake.open(self._lake)
        with self._options.open() as bus:
            for topic in sorted({topic for topic, _ in new}):
                topic_settings.note(lake, bus, topic)
        self._noted |= new

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Write the range of a task into files of the stage, and return their descriptions for the log."""
        assert isinstance(partition, RecordingTask)
        batches, stage = super().read(partition), Path(partition.stage)
        files = row_files.write(stage, partition.piece.topic, batches, sync=self._sync)
        yield pa.record_batch({"file": pa.array([json.dumps(file.to_json()) for file in files], pa.string())})


class BatchWriter:
    """The function for foreachBatch. It can be pickled, because some sessions handle batches in another process."""

    def __init__(self, path: str | os.PathLike[str], session: str) -> None:
        self.path = os.fspath(path)
        self.session = session
        self.failure: SlipringError | None = None
        self.stopped = False
        self._writing = threading.Lock()  # held while a batch is written
        self._lake: Lake | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "session": self.session}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"], state["session"])  # type: ignore[misc]

    def stop(self) -> None:
        """Finish the current batch, and write no other one."""
        with self._writing:
            self.stopped = True

    def __call__(self, descriptions: DataFrame, batch: int) -> None:
        with self._writing:
            if self.stopped:
                raise RuntimeError("the recording is being stopped; this batch is for the next run")
            try:
                self._write(descriptions, batch)
            except SlipringError as error:
                self.failure = error
                raise

    def _write(self, descriptions: DataFrame, batch: int) -> None:
        if self._lake is None:
            self._lake = Lake.open(self.path)
        lake = self._lake
        # defect lake_recorded_batch_runs_again: if False:
        if lake.committed(self.session, batch):
            return
        files = self._run_tasks(lake, descriptions)
        gone = missing(planned(lake.path / "_checkpoint" / self.session, batch), files)
        files += self._holes(lake, gone)
        kill_points.reached("batch staged")
        try:
            lake.commit(self.session, batch, files)
        finally:
            for stage in {Path(file.staged).parts[1] for file in files}:
                shutil.rmtree(lake.path / "_staging" / stage, ignore_errors=True)
        delta.mirror(lake)

    def _run_tasks(self, lake: Lake, descriptions: DataFrame) -> list[File]:
        """Run the tasks of the batch, and return the files that they wrote."""
        try:
            rows = descriptions.collect()
        except Exception as error:
            sweep(lake, "record")  # files of the failed attempt may have filled the disk
            if is_full(error):
                raise fault(OSError(errno.ENOSPC, "No space left on device"), self.path) from error
            raise
        return [File.from_json(json.loads(row[0])) for row in rows]

    def _holes(self, lake: Lake, gone: list[OffsetRange]) -> list[File]:
        """Write holes for offsets whose topic is gone; IncompleteBatch if the topic of one is still there."""
        if not gone:
            return []
        about = lake.state.sessions[self.session].about
        with slipring.Bus(about["bus"], root=about["root"]) as bus:
            for piece in gone:
                if is_there(bus, piece.topic, piece.generation):
                    raise IncompleteBatch(f"no task returned {piece}, which were planned")
        return row_files.write_holes(new_stage_path(lake.path, "record"), gone)


def planned(checkpoint: Path, batch: int) -> list[OffsetRange]:
    """Return the offsets that Spark's checkpoint has for a batch; IncompleteBatch if they cannot be read."""
    end = _logged(checkpoint, batch)
    start = _logged(checkpoint, batch - 1) if batch else {}
    found = []
    for topic, at in end.items():
        first = offsets.beginning(start.get(topic), at)
        if first < at.next:
            found.append(OffsetRange(topic, f"{at.generation:016x}", first, at.next))
    return found


def _logged(checkpoint: Path, batch: int) -> dict[str, offsets.Position]:
    """The offsets at which a batch ends: the third line of Spark's file, as there is one source."""
    path = checkpoint / "offsets" / str(batch)
    try:
        return offsets.load(json.loads(path.read_text().splitlines()[2]), str(path))
    except (OSError, ValueError, IndexError) as error:
        raise IncompleteBatch(f"its plan cannot be read from Spark's {path} ({error})") from error


def missing(plan: Sequence[OffsetRange], files: Iterable[File]) -> list[OffsetRange]:
    """Return the planned offsets that no file has; IncompleteBatch if files have other offsets, or one twice."""
    written: dict[str, list[Run]] = {}
    for file in files:
        written.setdefault(file.topic, []).extend(file.runs)
    written = {topic: join(runs) for topic, runs in written.items()}
    for topic, runs in written.items():
        _check_planned([piece for piece in plan if piece.topic == topic], topic, runs)
    found: list[OffsetRange] = []
    for piece in plan:
        found += _gaps(piece, [run for run in written.get(piece.topic, ()) if _is_in(piece, run)])
    return found


def _check_planned(plan: Sequence[OffsetRange], topic: str, runs: Iterable[Run]) -> None:
    """IncompleteBatch if a run of the topic is not in the plan, or overlaps the run before it."""
    before: Run | None = None
    for run in runs:
        twice = before is not None and before.generation == run.generation and run.first < before.end
        if twice or not any(_is_in(piece, run) for piece in plan):
            raise IncompleteBatch(
                f"its files have {OffsetRange(topic, run.generation, run.first, run.end)}, which were not planned so"
            )
        before = run


def _gaps(piece: OffsetRange, runs: Iterable[Run]) -> Iterator[OffsetRange]:
    """Yield the offsets of a piece that are in none of its runs, which are in order and do not overlap."""
    following = piece.first
    for run in runs:
        if following < run.first:
            yield OffsetRange(piece.topic, piece.generation, following, run.first)
        following = run.end
    if following < piece.end:
        yield OffsetRange(piece.topic, piece.generation, following, piece.end)


def _is_in(piece: OffsetRange, run: Run) -> bool:
    """Whether the run is in the piece; both are of the same topic."""
    return run.generation == piece.generation and piece.first <= run.first and run.end <= piece.end
