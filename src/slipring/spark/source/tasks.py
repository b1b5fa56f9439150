# SPDX-License-Identifier: Apache-2.0
"""Tasks: one range of one topic each, read in any of Spark's Python workers.

A task returns every message of its range, or reports the loss: it raises DataLoss, or with failOnDataLoss=false counts
the lost messages, and with includeGaps returns a row for each gap. In a worker that does not see the bus directory the
task fails.

A worker keeps its topics open in a variable of this module, because Spark reuses workers and pickled objects must not
have handles.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

import slipring
from slipring._bus.logs import log
from slipring._bus.ranges import RangeReader
from slipring.errors import TopicGone, TopicNotFound

from ..bus_directory import BusDirectory, this_host
from ..decode.decoder import Decoder
from ..errors import DataLoss, OtherHost, TopicReplaced
from . import gap_rows, loss_report, schema
from .offset_ranges import Range
from .options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa

OPEN_TOPICS = 32  # of one worker


@dataclass
class Task(InputPartition):
    """The messages that a worker reads, and their bus directory."""

    piece: Range
    bus: BusDirectory
    loss_report: str = ""  # path of the file for loss (loss_report.py)
    oldest: bool = False  # begin with the oldest message at the time of reading: earlier loss does not count
    newest: bool = False  # end with the newest message at the time of reading


def tasks_of(pieces: list[Range], bus: BusDirectory, loss_report: str) -> list[InputPartition]:
    return [Task(piece, bus, loss_report) for piece in pieces]


_OPEN: dict[tuple[str, str, str], RangeReader] = {}


def _reader(options: SourceOptions, piece: Range) -> RangeReader:
    key = options.root, options.bus, piece.topic
    found = _OPEN.pop(key, None)
    if found is not None:
        try:
            found.oldest()
        except TopicGone:
            found.close()
            found = None
    if found is None:
        found = RangeReader(slipring.Bus(options.bus, root=options.root), piece.topic)
    _OPEN[key] = found  # last in the order of use
    while len(_OPEN) > OPEN_TOPICS:
        _OPEN.pop(next(iter(_OPEN))).close()
    return found


def _opened(options: SourceOptions, piece: Range) -> RangeReader | None:
    """Return the reader of the range's topic; None: it was removed or replaced, and loss is allowed."""
    try:
        reader = _reader(options, piece)
    except TopicNotFound:
        if options.fail_on_loss:
            raise TopicReplaced(piece.topic, piece.generation, None) from None
        return None
    if reader.generation == piece.generation:
        return reader
    if options.fail_on_loss:
        raise TopicReplaced(piece.topic, piece.generation, reader.generation)
    return None


@lru_cache(maxsize=8)
def _decoder(options: SourceOptions) -> Decoder | None:
    if options.values is None:
        return None
    return Decoder(options.values, options.columns, schema.of_frame(options))


def read(options: SourceOptions, task: Task) -> Iterator[pa.RecordBatch]:
    """Yield the task's messages, in order, in batches of about batchBytes."""
    # defect spark_other_host_reads: if False:
    if not task.bus.is_seen_here():
        what = f"the task that reads topic {task.piece.topic!r}"
        raise OtherHost(what, this_host()[0], task.bus.path, task.bus.host)
    reader = _opened(options, task.piece)
    if reader is None:
        yield from _gone(options, task, task.piece.start, 0)
        return
    before, reader.reached = reader.lost, task.piece.start
    try:
        yield from _batches(options, task, reader)
    except TopicGone:  # removed since it was opened
        if options.fail_on_loss:
            raise TopicReplaced(task.piece.topic, task.piece.generation, None) from None
        yield from _gone(options, task, reader.reached, reader.lost - before)
        return
    # defect spark_loss_uncounted: if False:
    if reader.lost > before and not task.oldest:
        _report_loss(task, reader.lost - before)


def _gone(options: SourceOptions, task: Task, start: int, lost: int) -> Iterator[pa.RecordBatch]:
    """Count the rest of the range as lost, because its topic was removed; yield a row for it with includeGaps."""
    rest = dataclasses.replace(task.piece, start=min(start, task.piece.end))
    _report_loss(task, lost + rest.size)
    if options.gaps and rest.size:
        decoder = _decoder(options)
        gap = gap_rows.batch(rest, options.columns if decoder is None else decoder.columns)
        yield gap if decoder is None else decoder.decode(rest.topic, gap)


def _batches(options: SourceOptions, task: Task, reader: RangeReader) -> Iterator[pa.RecordBatch]:
    decoder, piece = _decoder(options), task.piece
    columns = options.columns if decoder is None else decoder.columns
    before, start, end = reader.lost, piece.start, piece.end
    if task.oldest:
        start = max(start, reader.oldest())
    if task.newest:
        end = max(end, reader.settled_end(start, options.max_records))
    for batch in reader.batches(min(start, end), end, columns, options.batch_bytes, options.gaps):
        _check_loss(options, task, reader.lost - before)
        yield batch if decoder is None else decoder.decode(piece.topic, batch)
    _check_loss(options, task, reader.lost - before)


def _check_loss(options: SourceOptions, task: Task, lost: int) -> None:
    piece = task.piece
    # defect spark_loss_silent: if False:
    if lost and options.fail_on_loss and not task.oldest:
        raise DataLoss(
            f"{lost} messages of [{piece.start}, {piece.end}) of topic {piece.topic!r} were overwritten unread"
        )


def _report_loss(task: Task, lost: int) -> None:
    piece = task.piece
    log(
        "spark", "warning", "%d messages of [%d, %d) of topic '%s' are lost: skipped",
        lost, piece.start, piece.end, piece.topic,
    )  # fmt: skip
    if not (task.loss_report and loss_report.add(task.loss_report, piece, lost)):
        what = f"{lost} messages of [{piece.start}, {piece.end}) of topic {piece.topic!r} are lost"
        print(f"slipring: {what}: skipped (option failOnDataLoss=false)", file=sys.stderr, flush=True)
