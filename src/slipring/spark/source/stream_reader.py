# SPDX-License-Identifier: Apache-2.0
"""The stream reader: what Spark asks the long-lived source process, and how it is answered.

Everything here runs in that one process, except `read`, which runs in workers on a pickled copy. Nothing is
remembered that a restart would need: offsets are Spark's, in its checkpoint; what must not be reclaimed is
kept by cursors, in the topics. docs/spec/spark-source.md has the order of calls and what each death leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from . import offset_ranges as plan
from . import offsets, tasks
from .micro_batch_stream import Progress
from .options import SourceOptions
from .tasks import Task

if TYPE_CHECKING:
    import pyarrow as pa


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._progress: Progress | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_options": self._options, "_progress": None}

    def _now(self) -> Progress:
        if self._progress is None:
            self._progress = Progress(self._options)
        return self._progress

    def initialOffset(self) -> dict[str, Any]:
        return offsets.dump(self._now().first())

    def getDefaultReadLimit(self) -> ReadLimit:
        """Spark hands it back, unless the trigger is one that wants everything. All limits are applied
        together."""
        options = self._options
        if options.max_rows:
            return ReadMaxRows(options.max_rows)
        if options.max_bytes:
            return ReadMaxBytes(options.max_bytes)
        return ReadMinRows(options.min_rows) if options.min_rows else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._now().fix_end()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        limited = not isinstance(limit, ReadAllAvailable)
        before, releases = offsets.load(start), offsets.releases(start)
        end = self._now().following(before, limited)
        is_due = end == before and self._now().is_release_due(end)
        return offsets.dump(end, releases + 1 if is_due else releases)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return self._now().report()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        now, options = self._now(), self._options
        ranges = now.ranges(offsets.load(start), offsets.load(end))
        pieces = plan.split(ranges, options.min_partitions, options.max_records)
        return tasks.tasks_of(pieces, now.directory(), now.tally.path)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Task)
        return tasks.read(self._options, partition)

    def commit(self, end: dict[str, Any]) -> None:
        self._now().release(offsets.load(end))

    def stop(self) -> None:
        if self._progress is not None:
            self._progress.close()
            self._progress = None
