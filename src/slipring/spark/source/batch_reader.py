# SPDX-License-Identifier: Apache-2.0
"""The batch reader: the present messages between two offsets or times. It holds nothing and moves no cursor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from .. import executors
from ..bus_directory import BusDirectory
from ..errors import BadOption
from . import offset_ranges, start_offsets, tasks
from .offset_ranges import Range
from .open_topics import OpenTopics
from .options import SourceOptions
from .start_offsets import OffsetBound
from .tasks import Task

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_START = OffsetBound("startingOffsets", start_offsets.EARLIEST)
BATCH_END = OffsetBound("endingOffsets", start_offsets.LATEST)


class BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        topics = OpenTopics(self._options)
        try:
            executors.check(topics.bus.path)
            directory = BusDirectory.of(topics.bus.path)
            ranges = [self._range(topics, topic) for topic in topics.names()]
        finally:
            topics.close()
        pieces = offset_ranges.split(ranges, self._options.min_partitions, self._options.max_records)
        return list(self._tasks(pieces, directory))

    def _tasks(self, pieces: list[Range], directory: BusDirectory) -> Iterator[Task]:
        last = {piece.topic: piece for piece in pieces}
        for piece in pieces:
            oldest = self._begins_at_oldest(piece.topic)
            is_open = oldest and self._options.ending is None and piece is last[piece.topic]
            yield Task(piece, directory, oldest=oldest, newest=is_open)

    def _begins_at_oldest(self, topic: str) -> bool:
        """Whether the read begins with the oldest message present when a task reads: earlier loss does not count."""
        starting = self._options.starting or BATCH_START
        return starting.time_ns is None and starting.of(topic) == start_offsets.EARLIEST

    def _range(self, topics: OpenTopics, topic: str) -> Range:
        starting, ending = self._options.starting or BATCH_START, self._options.ending or BATCH_END
        end, start = topics.sequence(topic, ending), topics.sequence(topic, starting)
        if start > end and isinstance(starting.of(topic), int) and isinstance(ending.of(topic), int):
            raise BadOption(ending.option, f"{end} of topic {topic!r} is before {starting.option}, {start}")
        return Range(topic, topics.get(topic).generation, min(start, end), end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Without partitions Spark makes one of its own, for which there is nothing to read.
        return tasks.read(self._options, partition) if isinstance(partition, Task) else iter(())
