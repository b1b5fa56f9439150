# SPDX-License-Identifier: Apache-2.0
"""The writers that Spark calls for ``writeStream.format("slipring")`` and ``write.format("slipring")``.

write() runs in Spark's workers and stages rows. commit() runs in another process, after all tasks of the batch have
succeeded, and publishes the rows. Spark may run a task several times, and a whole batch again after a restart. The
staged rows of a failed task are dropped. Each row is published once (_bus/exactly_once/outbox.py explains why).
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from slipring._bus import directory
from slipring._bus.bus import Bus
from slipring._bus.exactly_once import leftovers as outbox_leftovers
from slipring._bus.exactly_once import process_identity
from slipring._bus.exactly_once.outbox import BRIEF, Batch, Outbox, Part
from slipring._bus.logs import log
from slipring.errors import BadArgument, SchemaMismatch

from .. import executors
from ..bus_directory import BusDirectory, this_host
from ..errors import OtherHost
from . import bodies
from . import options as sink_options
from .batch_publisher import BatchPublisher
from .options import SinkOptions
from .staged_rows import STAGED, StagedRows, capacity, check_schema

if TYPE_CHECKING:
    Messages = list["WriterCommitMessage | None"]


@dataclass(frozen=True)
class Staged(WriterCommitMessage):
    """The rows that one task staged."""

    job: str
    partition: int
    part: Part | None  # None: there were no rows
    topics: tuple[str, ...]
    schemas: Mapping[str, str] = field(default_factory=dict)  # of the typed topics: staged_rows.StagedRows


@dataclass(frozen=True)
class Refused(WriterCommitMessage):
    """A task ran where the bus directory is not visible."""

    host: str


def _prepared(given: Mapping[str, str], schema: StructType, *, streaming: bool) -> SinkOptions:
    options = sink_options.parse(given, streaming=streaming)
    check_schema(schema, options)
    executors.check(options.path)
    if options.topic is not None:
        capacity(
            options, options.topic
        )  # creates a missing topic; raises for other settings than the options'
    return options


def _stage(
    options: SinkOptions, bus: BusDirectory, job: str, batch: int, owner: str, rows: Iterator[pa.RecordBatch]
) -> Staged | Refused:
    if not bus.is_seen_here():
        return Refused(this_host()[0])
    context = TaskContext.get()
    assert context is not None
    staged = StagedRows(options)
    batches = staged.batches(rows)
    first = next(batches, None)
    if first is None:
        return Staged(job, context.partitionId(), None, ())
    outbox = Outbox(options.path, job)
    path = outbox.stage(batch, context.partitionId(), owner)
    try:
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, STAGED) as file:
            file.write_batch(first)
            for more in batches:
                file.write_batch(more)
    except BaseException as error:
        outbox.drop(path)
        if isinstance(error, OSError) and error.errno is not None and not hasattr(error, "argument"):
            raise directory.fault(error, path) from error
        raise
    part = Part(os.path.basename(path), staged.count, os.stat(path).st_size)
    return Staged(job, context.partitionId(), part, staged.topics, staged.schemas)


def _publish(options: SinkOptions, bus_directory: BusDirectory, number: int, messages: Messages) -> None:
    for one in messages:
        if isinstance(one, Refused):
            _drop(options, messages)
            raise OtherHost("a task of the sink", one.host, bus_directory.path, bus_directory.host)
    # defect sink_partitions_unordered: staged = [one for one in messages if isinstance(one, Staged)]
    staged = sorted((one for one in messages if isinstance(one, Staged)), key=lambda one: one.partition)
    parts = tuple(one.part for one in staged if one.part is not None)
    if not parts:
        return
    topics = tuple(sorted({topic for one in staged for topic in one.topics}))
    with options.open() as bus:
        for one in staged:
            _check_schemas(bus, one.schemas)
        outbox = Outbox(bus.path, staged[0].job)
        outbox.publish(Batch(number, parts, topics), BatchPublisher(bus, outbox, options.timeout).send)
    log("spark", "debug", "batch %d: published on %s", number, ", ".join(topics))


def _check_schemas(bus: Bus, schemas: Mapping[str, str]) -> None:
    """Refuse rows that were encoded by a schema which their topic does not have any more."""
    for topic, encoded in schemas.items():
        # defect sink_schema_of_replaced_topic_ignored: if False:
        if bodies.fingerprint(bodies.schema_of(bus, topic)) != encoded:
            raise SchemaMismatch(
                f"topic {topic!r} was removed or created again with another schema while its rows were encoded: run "
                f"the job again, or restart the query",
                argument="topic",
            )


def _drop(options: SinkOptions, messages: Messages) -> None:
    """Remove the staged rows of a failed batch. The next batch, or doctor, finds those that are not named here.

    The rows of a batch that is partly published stay: the query continues with them.
    """
    with options.open() as bus:
        for one in messages:
            if isinstance(one, Staged) and one.part is not None:
                outbox = Outbox(bus.path, one.job)
                begun = outbox.begun()
                # defect sink_abort_drops_begun_rows: if True:
                if begun is None or one.part not in begun.parts:
                    log(
                        "spark",
                        "info",
                        "job %s: dropped %d staged rows of a failed batch",
                        one.job,
                        one.part.rows,
                    )
                    outbox.drop(one.part.file)


class StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self._options = _prepared(given, schema, streaming=True)
        self._bus = BusDirectory.of(self._options.path)
        self._owner = process_identity.mark(process_identity.ancestor("java"))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged | Refused:
        context = TaskContext.get()
        assert context is not None
        query = context.getLocalProperty("sql.streaming.queryId")
        batch = context.getLocalProperty("streaming.sql.batchId")
        assert query and batch, "Spark passed no query or batch"
        return _stage(self._options, self._bus, str(uuid.UUID(query)), int(batch), self._owner, iterator)

    def commit(self, messages: Messages, batchId: int) -> None:
        _publish(self._options, self._bus, batchId, messages)

    def abort(self, messages: Messages, batchId: int) -> None:
        _drop(self._options, messages)


class BatchWriter(DataSourceArrowWriter):
    def __init__(self, given: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise BadArgument('a topic cannot be overwritten: use mode("append")', argument="mode")
        self._options = _prepared(given, schema, streaming=False)
        self._bus = BusDirectory.of(self._options.path)
        app = self._options.app
        self._lasting = app is not None
        self._job = (
            f"txn-{hashlib.sha256(app.encode()).hexdigest()[:32]}" if app else f"{BRIEF}{uuid.uuid4()}"
        )
        self._owner = process_identity.mark(process_identity.ancestor("java"))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged | Refused:
        return _stage(self._options, self._bus, self._job, self._options.version, self._owner, iterator)

    def commit(self, messages: Messages) -> None:
        with self._options.open() as bus:
            outbox_leftovers.clear_brief(bus.path)
        _publish(self._options, self._bus, self._options.version, messages)
        self._forget()

    def abort(self, messages: Messages) -> None:
        _drop(self._options, messages)
        self._forget()

    def _forget(self) -> None:
        """Remove the state of a job without a name, which is never continued."""
        if not self._lasting:
            with self._options.open() as bus:
                Outbox(bus.path, self._job).remove()
