# SPDX-License-Identifier: Apache-2.0
"""The stream reader: the calls that Spark makes to a stream of topics.

All of them run in one long-lived source process, except `read`, which runs in workers on a pickled copy. The reader has
no state that a restart needs: Spark's checkpoint has the offsets, and cursors in the topics keep the messages.
docs/spec/spark-source.md has the order of calls and the effects of each death.
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

from . import offset_ranges, offsets, shared_schema, tasks
from .micro_batch_stream import MicroBatchStream
from .offsets import Position
from .options import SourceOptions
from .tasks import Task

if TYPE_CHECKING:
    import pyarrow as pa


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._schema = shared_schema.fingerprint(options)
        self._stream: MicroBatchStream | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_options": self._options, "_schema": self._schema, "_stream": None}

    def _started(self) -> MicroBatchStream:
        if self._stream is None:
            self._stream = MicroBatchStream(self._options)
        return self._stream

    def initialOffset(self) -> dict[str, Any]:
        return offsets.dump(self._started().first(), 0, self._schema)

    def _loaded(self, raw: dict[str, Any]) -> dict[str, Position]:
        found = offsets.load(raw)
        # defect spark_schema_of_checkpoint_ignored: if False:
        if self._options.one_schema:
            offsets.check_schema(raw, self._schema)
        return found

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return one of the limits. Spark passes it to `latestOffset`, unless the trigger has no limit.

        `latestOffset` applies all limits together."""
        options = self._options
        if options.max_rows:
            return ReadMaxRows(options.max_rows)
        if options.max_bytes:
            return ReadMaxBytes(options.max_bytes)
        return ReadMinRows(options.min_rows) if options.min_rows else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._started().fix_available_now_ends()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        limited = not isinstance(limit, ReadAllAvailable)
        before, releases = self._loaded(start), offsets.releases(start)
        end = self._started().next_end(before, limited)
        is_due = end == before and self._started().is_release_due(end)
        return offsets.dump(end, releases + 1 if is_due else releases, self._schema)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return self._started().report()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        stream, options = self._started(), self._options
        ranges = stream.ranges(self._loaded(start), self._loaded(end))
        pieces = offset_ranges.split(ranges, options.min_partitions, options.max_records)
        return tasks.tasks_of(pieces, stream.directory(), stream.loss_report.path)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Task)
        return tasks.read(self._options, partition)

    def commit(self, end: dict[str, Any]) -> None:
        self._started().release(offsets.load(end))

    def stop(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
