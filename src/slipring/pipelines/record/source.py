# SPDX-License-Identifier: Apache-2.0
"""The source of a recording: topics, as the files that its tasks make of them.

It plans, commits and counts as the source "slipring" does. Its tasks hand Spark one row for each file instead
of the messages themselves: bodies go from the ring into Parquet in the process that read them, and never
through the JVM, which could write half as many rows or fewer (docs/design/recording-and-replay.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StringType, StructField, StructType

from slipring.spark.source import parsing, topics
from slipring.spark.source.data_source import DefaultSource
from slipring.spark.source.options import SourceOptions
from slipring.spark.source.stream_reader import StreamReader
from slipring.spark.source.tasks import Task

from ..lake import task_files
from ..lake.reading import STORED
from ..lake.stage import new_place
from .ends import ended, load_ends

OWN_OPTIONS = ("lake", "sync", "ends")


class RecordingSource(DefaultSource):
    """Options: those of "slipring", columns excepted; lake, where it records to; sync, whether files are on
    disk before they count; ends, a file that says where the recording ends, once that is decided."""

    @classmethod
    def name(cls) -> str:
        return "slipring-recording"

    def schema(self) -> StructType:
        topics.check(self._source_options())
        return StructType([StructField("file", StringType(), True)])

    def streamReader(self, schema: StructType) -> RecordingReader:
        lake, sync, ends = (self.options[name] for name in OWN_OPTIONS)
        return RecordingReader(self._source_options().for_stream(), Path(lake), sync == "true", Path(ends))

    def _source_options(self) -> SourceOptions:
        given = {name: value for name, value in self.options.items() if name.lower() not in OWN_OPTIONS}
        return parsing.parse({**given, "columns": ",".join(STORED)})


@dataclass
class RecordingTask(Task):
    """A range, and the stage of its batch."""

    stage: str = ""


class RecordingReader(StreamReader):
    def __init__(self, options: SourceOptions, lake: Path, sync: bool, ends: Path) -> None:
        super().__init__(options)
        self._lake, self._sync, self._ends = lake, sync, ends

    def __getstate__(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("_lake", "_sync", "_ends")}
        return {**super().__getstate__(), **own}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        found = super().latestOffset(start, limit)
        ends = load_ends(self._ends)
        return found if ends is None else ended(start, found, ends)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        stage = str(new_place(self._lake, "record"))
        return [RecordingTask(**vars(task), stage=stage) for task in super().partitions(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RecordingTask)
        batches, stage = super().read(partition), Path(partition.stage)
        files = task_files.write(stage, partition.piece.topic, batches, sync=self._sync)
        yield pa.record_batch({"file": pa.array([json.dumps(asdict(file)) for file in files], pa.string())})
