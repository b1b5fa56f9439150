# SPDX-License-Identifier: Apache-2.0
"""Tasks: one range of one topic each, read in whatever Python worker Spark gives it to.

A worker keeps the topics it has read open, at module level: Spark reuses workers, and what it pickles must
not hold handles.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

import slipring
from slipring._bus.ranges import Ranges
from slipring.errors import TopicGone, TopicNotFound

from . import tally
from .decoding import Decoder
from .failures import DataLoss, OtherHost, TopicReplaced
from .options import SourceOptions
from .plan import Range
from .topics import this_host

if TYPE_CHECKING:
    import pyarrow as pa

OPEN_TOPICS = 32  # of one worker


@dataclass
class Task(InputPartition):
    """What a worker is told: which messages, and on which host their memory is."""

    piece: Range
    host: str
    boot: str
    tally: str = ""  # where losses are told (tally.py)


def tasks_of(pieces: list[Range], tally: str = "") -> list[InputPartition]:
    host, boot = this_host()
    return [Task(piece, host, boot, tally) for piece in pieces]


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


def _check_host(options: SourceOptions, task: Task) -> None:
    host, boot = this_host()
    # defect spark_other_host_reads: if False:
    if boot != task.boot:
        raise OtherHost(
            f"topic {task.piece.topic!r} of bus {options.bus!r} is in the memory of host {task.host} (boot "
            f"{task.boot}); "
            f"this task runs on {host} (boot {boot}): run the executors on {task.host}, or mirror the bus "
            f"to where they are with slipring bridge"
        )


def _opened(options: SourceOptions, task: Task) -> Ranges | None:
    """None: the topic is not the one any more, and that is allowed."""
    piece = task.piece
    try:
        ranges = _ranges(options, piece)
    except TopicNotFound:
        if not os.path.isdir(os.path.join(options.root, options.bus)):
            raise OtherHost(
                f"bus {options.bus!r} of host {task.host} is not to be seen by this task: there is no directory "
                f"{options.root}; a container has a /dev/shm of its own unless it is given the host's"
            ) from None
        if not options.fail_on_loss:
            return None
        raise TopicReplaced(piece.topic, piece.generation, None) from None
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
    _check_host(options, task)
    ranges = _opened(options, task)
    if ranges is None:
        _tell(task, task.piece.size)
        return
    before = ranges.lost
    try:
        yield from _batches(options, task.piece, ranges)
    except TopicGone:  # removed since it was opened
        if options.fail_on_loss:
            raise TopicReplaced(task.piece.topic, task.piece.generation, None) from None
        _tell(task, task.piece.size)
        return
    # defect spark_loss_uncounted: if False:
    if ranges.lost > before:
        _tell(task, ranges.lost - before)


def _batches(options: SourceOptions, piece: Range, ranges: Ranges) -> Iterator[pa.RecordBatch]:
    decoder = _decoder(options)
    columns = options.columns if decoder is None else decoder.columns
    before = ranges.lost
    for batch in ranges.batches(piece.start, piece.end, columns, options.batch_bytes, options.gaps):
        _check_loss(options, piece, ranges.lost - before)
        yield batch if decoder is None else decoder.decode(piece.topic, batch)
    _check_loss(options, piece, ranges.lost - before)


def _check_loss(options: SourceOptions, piece: Range, lost: int) -> None:
    # defect spark_loss_silent: if False:
    if lost and options.fail_on_loss:
        raise DataLoss(
            f"{lost} messages of [{piece.start}, {piece.end}) of topic {piece.topic!r} were overwritten "
            f"unread"
        )


def _tell(task: Task, lost: int) -> None:
    piece = task.piece
    if not (task.tally and tally.add(task.tally, piece, lost)):
        what = f"{lost} messages of [{piece.start}, {piece.end}) of topic {piece.topic!r} are lost"
        print(f"slipring: {what}: skipped, as option failOnDataLoss=false says", file=sys.stderr, flush=True)
