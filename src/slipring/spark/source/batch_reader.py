# SPDX-License-Identifier: Apache-2.0
"""The batch reader: what is in the rings now, between two offsets or times. It holds nothing and moves no
cursor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from .. import executors
from ..bus_directory import BusDirectory
from ..errors import BadOption
from . import offset_ranges as plan
from . import start_offsets as places
from . import tasks
from .offset_ranges import Range
from .options import SourceOptions
from .start_offsets import Place
from .tasks import Task
from .topics import Topics

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_START = Place("startingOffsets", places.EARLIEST)
BATCH_END = Place("endingOffsets", places.LATEST)


class BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        topics = Topics(self._options)
        try:
            executors.check(topics.bus.path)
            directory = BusDirectory.of(topics.bus.path)
            ranges = [self._range(topics, topic) for topic in topics.names()]
        finally:
            topics.close()
        pieces = plan.split(ranges, self._options.min_partitions, self._options.max_records)
        return list(self._tasks(pieces, directory))

    def _tasks(self, pieces: list[Range], directory: BusDirectory) -> Iterator[Task]:
        last = {piece.topic: piece for piece in pieces}
        for piece in pieces:
            oldest = self._begins_at_oldest(piece.topic)
            is_open = oldest and self._options.ending is None and piece is last[piece.topic]
            yield Task(piece, directory, oldest=oldest, newest=is_open)

    def _begins_at_oldest(self, topic: str) -> bool:
        """The user gave no place to begin at: what is overwritten before it is read was never asked for."""
        starting = self._options.starting or BATCH_START
        return starting.time_ns is None and starting.of(topic) == places.EARLIEST

    def _range(self, topics: Topics, topic: str) -> Range:
        starting, ending = self._options.starting or BATCH_START, self._options.ending or BATCH_END
        end, start = topics.sequence(topic, ending), topics.sequence(topic, starting)
        if start > end and isinstance(starting.of(topic), int) and isinstance(ending.of(topic), int):
            raise BadOption(ending.option, f"{end} of topic {topic!r} is before {starting.option}, {start}")
        return Range(topic, topics.get(topic).generation, min(start, end), end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark makes a partition of its own when there are none: there is nothing to read then.
        return tasks.read(self._options, partition) if isinstance(partition, Task) else iter(())
