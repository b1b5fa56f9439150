# SPDX-License-Identifier: Apache-2.0
"""Tasks: one range of one topic each, read in whatever Python worker Spark gives it to.

A task returns every message of its range, or says what it does not: DataLoss, or with failOnDataLoss=false a count,
and with includeGaps a row for each hole. A worker that does not see the bus directory knows nothing, and fails.

A worker keeps the topics it has read open, at module level: Spark reuses workers, and what it pickles must
not hold handles.
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
from slipring._bus.ranges import Ranges
from slipring.errors import TopicGone, TopicNotFound

from ..bus_directory import BusDirectory, this_host
from ..decode.decoding import Decoder
from ..errors import DataLoss, OtherHost, TopicReplaced
from . import holes
from . import loss_report as tally
from .offset_ranges import Range
from .options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa

OPEN_TOPICS = 32  # of one worker


@dataclass
class Task(InputPartition):
    """What a worker is told: which messages, and of which bus directory."""

    piece: Range
    bus: BusDirectory
    tally: str = ""  # where losses are told (tally.py)
    oldest: bool = False  # begin at what is there when it is read: what is overwritten until then is no loss
    newest: bool = False  # end with what is there when it is read


def tasks_of(pieces: list[Range], bus: BusDirectory, tally: str = "") -> list[InputPartition]:
    return [Task(piece, bus, tally) for piece in pieces]


_OPEN: dict[tuple[str, str, str], Ranges] = {}


def _ranges(options: SourceOptions, piece: Range) -> Ranges:
    key = options.root, options.bus, piece.topic
    found = _OPEN.pop(key, None)
    if found is not None:
        try:
            found.oldest()
        except TopicGone:
            found.close()
            found = None
    if found is None:
        found = Ranges(slipring.Bus(options.bus, root=options.root), piece.topic)
    _OPEN[key] = found  # the last used is the last
    while len(_OPEN) > OPEN_TOPICS:
        _OPEN.pop(next(iter(_OPEN))).close()
    return found


def _opened(options: SourceOptions, piece: Range) -> Ranges | None:
    """None: the topic is not the one any more, and that is allowed."""
    try:
        ranges = _ranges(options, piece)
    except TopicNotFound:
        if options.fail_on_loss:
            raise TopicReplaced(piece.topic, piece.generation, None) from None
        return None
    if ranges.generation == piece.generation:
        return ranges
    if options.fail_on_loss:
        raise TopicReplaced(piece.topic, piece.generation, ranges.generation)
    return None


@lru_cache(maxsize=8)
def _decoder(options: SourceOptions) -> Decoder | None:
    return None if options.value_format is None else Decoder(options)


def read(options: SourceOptions, task: Task) -> Iterator[pa.RecordBatch]:
    """The task's messages, in order, in batches of about batchBytes."""
    # defect spark_other_host_reads: if False:
    if not task.bus.is_seen_here():
        what = f"the task that reads topic {task.piece.topic!r}"
        raise OtherHost(what, this_host()[0], task.bus.path, task.bus.host)
    ranges = _opened(options, task.piece)
    if ranges is None:
        yield from _gone(options, task, task.piece.start, 0)
        return
    before, ranges.reached = ranges.lost, task.piece.start
    try:
        yield from _batches(options, task, ranges)
    except TopicGone:  # removed since it was opened
        if options.fail_on_loss:
            raise TopicReplaced(task.piece.topic, task.piece.generation, None) from None
        yield from _gone(options, task, ranges.reached, ranges.lost - before)
        return
    # defect spark_loss_uncounted: if False:
    if ranges.lost > before and not task.oldest:
        _tell(task, ranges.lost - before)


def _gone(options: SourceOptions, task: Task, start: int, lost: int) -> Iterator[pa.RecordBatch]:
    """The topic is gone, and from start on so is the range: counted, and a row if holes are rows."""
    rest = dataclasses.replace(task.piece, start=min(start, task.piece.end))
    _tell(task, lost + rest.size)
    if options.gaps and rest.size:
        decoder = _decoder(options)
        hole = holes.batch(rest, options.columns if decoder is None else decoder.columns)
        yield hole if decoder is None else decoder.decode(rest.topic, hole)


def _batches(options: SourceOptions, task: Task, ranges: Ranges) -> Iterator[pa.RecordBatch]:
    decoder, piece = _decoder(options), task.piece
    columns = options.columns if decoder is None else decoder.columns
    before, start, end = ranges.lost, piece.start, piece.end
    if task.oldest:
        start = max(start, ranges.oldest())
    if task.newest:
        end = max(end, ranges.committed(start, options.max_records))
    for batch in ranges.batches(min(start, end), end, columns, options.batch_bytes, options.gaps):
        _check_loss(options, task, ranges.lost - before)
        yield batch if decoder is None else decoder.decode(piece.topic, batch)
    _check_loss(options, task, ranges.lost - before)


def _check_loss(options: SourceOptions, task: Task, lost: int) -> None:
    piece = task.piece
    # defect spark_loss_silent: if False:
    if lost and options.fail_on_loss and not task.oldest:
        raise DataLoss(
            f"{lost} messages of [{piece.start}, {piece.end}) of topic {piece.topic!r} were overwritten "
            f"unread"
        )


def _tell(task: Task, lost: int) -> None:
    piece = task.piece
    log(
        "spark", "warning", "%d messages of [%d, %d) of topic '%s' are lost: skipped",
        lost, piece.start, piece.end, piece.topic,
    )  # fmt: skip
    if not (task.tally and tally.add(task.tally, piece, lost)):
        what = f"{lost} messages of [{piece.start}, {piece.end}) of topic {piece.topic!r} are lost"
        print(f"slipring: {what}: skipped, as option failOnDataLoss=false says", file=sys.stderr, flush=True)
