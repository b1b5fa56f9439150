# SPDX-License-Identifier: Apache-2.0
"""The streaming query of a recording: start it, watch it, stop it at the end offsets.

The end is exact. The running query reads it from a file, takes the messages before it, then has nothing to do, and is
stopped only then. With long triggers a last query without a trigger does that. A query that Spark failed (its source
process was killed, a worker did not start) is started again. After several failures without a batch in between the
error is raised.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import slipring
from slipring._bus.logs import log
from slipring.errors import SlipringError

from ..errors import JobFailed, SparkGone, explained, is_gone
from ..job_progress import Meter, QueryWatch, Show
from ..lake import Lake
from ..lake.model import Session
from ..lake.topics import topic_settings
from . import end_offsets
from .batch import BatchWriter, RecordingSource
from .begin import Subscription, checkpoint, cursor_name, remove_partial_files
from .end_offsets import EndOffsets
from .limits import Limits
from .topic_extents import TopicExtents
from .topic_state import is_behind, is_there

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_S = 0.25
FAILURES_IN_A_ROW = 6  # Spark notices one by one which of its Python processes were killed
ROWS_OF_A_TASK = 100_000
BYTES_OF_A_BATCH = 1 << 30
LONG_TRIGGER_S = 1.0  # with a longer trigger, the end does not wait for the next batch


class Recorder:
    """Records one session of a lake."""

    def __init__(
        self,
        spark: SparkSession,
        lake: Lake,
        bus: slipring.Bus,
        subscription: Subscription,
        session: str,
        extents: TopicExtents,
        limits: Limits,
        *,
        every_s: float,
        sync: bool,
    ) -> None:
        self.spark, self.lake, self.bus = spark, lake, bus
        self.subscription, self.session = subscription, session
        self._extents, self._limits = extents, limits
        self._every_s = every_s
        self._sync = sync
        self._writer = BatchWriter(lake.path, session)
        self._meter = Meter(started_s=limits.started_s)
        self._ends: EndOffsets | None = None  # as soon as they are known
        self._is_complete = False  # everything before the end is recorded

    def run(self, show: Show | None, after_first_batch: Callable[[], None]) -> None:
        """Record until a limit is reached."""
        self.note_topics()
        while not self._is_complete:
            self._retry(lambda: self._run_query(show, after_first_batch))

    def _retry(self, run_query: Callable[[], None]) -> None:
        """Run the query again after a failure of Spark's, unless several failures come without a batch in between."""
        failures = 0
        while True:
            batch = self._last_batch()
            try:
                run_query()
                return
            except JobFailed as error:
                failures = failures + 1 if self._last_batch() == batch else 1
                if error.ours or failures >= FAILURES_IN_A_ROW:
                    raise
                log("record", "warning", "session %s: the query is started again: %s", self.session, error)
            time.sleep(POLL_S)

    def _run_query(self, show: Show | None, after_first_batch: Callable[[], None]) -> None:
        # The end may have been decided while Spark was starting.
        self._ends = self._limits.reached(0.0, self._extents.end_offsets)
        query = self._start()
        try:
            self._watch(query, show, after_first_batch)
        finally:
            self._stop(query)

    def _start(self) -> Any:
        options = {
            "bus": self.bus.name,
            "root": self.bus.root,
            "groupId": cursor_name(self.lake, self.session),
            "startingOffsets": self._starting_offsets(),
            "failOnDataLoss": "false",
            "includeGaps": "true",
            "lake": str(self.lake.path),
            "sync": str(self._sync).lower(),
            "ends": str(end_offsets.path_of(self.lake, self.session)),
            "maxRecordsPerPartition": str(ROWS_OF_A_TASK),
            "maxBytesPerTrigger": str(BYTES_OF_A_BATCH),
        }
        options.update([self.subscription.option()])
        with self._explained():
            where = checkpoint(self.lake, self.session)
            remove_partial_files(where)
            self.spark.dataSource.register(RecordingSource)
            stream = self.spark.readStream.format(RecordingSource.name()).options(**options).load()
            writer = stream.writeStream.foreachBatch(self._writer).queryName(f"record-{self.session}")
            writer = writer.option("checkpointLocation", str(where))
            if self._every_s and self._ends is None:
                writer = writer.trigger(processingTime=f"{int(self._every_s * 1000)} milliseconds")
            self._writer.stopped = False
            return writer.start()

    def _starting_offsets(self) -> str:
        """The source's startingOffsets for an empty checkpoint: where the recording began. Topics that appeared later
        are recorded from their first message on."""
        found = {}
        for topic, (generation, _) in self._extents.end_offsets().items():
            first = self._extents.first(topic, generation)
            if first is not None and is_there(self.bus, topic, generation):
                found[topic] = first
        return json.dumps(found)

    def _watch(self, query: Any, show: Show | None, after_first_batch: Callable[[], None]) -> None:
        with self._explained():
            watch = QueryWatch(query, counts=self._counts, meter=self._meter)
            rows, since, started = -1, time.monotonic(), False
            while query.isActive:
                figures = watch.figures()
                if not started and watch.has_progress:
                    started = True
                    after_first_batch()
                if figures.rows != rows:
                    rows = figures.rows
                    self.note_topics()
                    since = time.monotonic()
                if not self._has_all(query):
                    since = time.monotonic()  # a batch that takes long is not idle
                if show is not None:
                    show(figures)
                if started and self._ends is None:
                    self._ends = self._limits.reached(time.monotonic() - since, self._extents.end_offsets)
                    if self._ends is not None and self._every_s > LONG_TRIGGER_S:
                        return
                if started and self._ends is not None and self._has_ended(query, self._ends):
                    self._is_complete = True
                    return
                query.awaitTermination(POLL_S)
            failure = query.exception()
            if failure is not None:
                raise self._writer.failure or explained(failure, f"recording into {self.lake.path}")
            if self._ends is None:  # the query was stopped from outside
                self._limits.decide(self._extents.end_offsets())

    def _has_ended(self, query: Any, wanted: EndOffsets) -> bool:
        """Whether everything before the end is recorded; a removed topic gets no more messages."""
        positions = _positions(query)
        if positions is None:
            return False
        for topic, (generation, end) in wanted.items():
            at = positions.get(topic)
            if at is not None and at["generation"] == generation and at["next"] >= end:
                continue
            first = self._extents.first(topic, generation)
            if at is None and first is not None and end <= first:
                continue  # nothing was published on it
            if is_there(self.bus, topic, generation):
                return False
        return True

    def _has_all(self, query: Any) -> bool:
        """Whether the query has finished with all messages that the topics have now."""
        positions = _positions(query)
        return positions is not None and not is_behind(
            positions, self.bus, self.subscription.matching(self.bus)
        )

    def _stop(self, query: Any) -> None:
        """Stop the query, if it still runs, between two batches. There are none after the end."""
        self._writer.stop()
        try:
            query.stop()
        except Exception as error:
            if not is_gone(error):
                raise

    def note_topics(self) -> None:
        """Save the settings of the topics: one may be gone before its first batch is written."""
        for topic in self.subscription.matching(self.bus):
            topic_settings.note(self.lake, self.bus, topic)

    def recorded(self) -> Session:
        return self.lake.refresh().sessions[self.session]

    def _counts(self) -> tuple[int, int, int]:
        recorded = self.recorded()
        runs = [run for runs in recorded.coverage.values() for run in runs]
        return sum(run.messages for run in runs), recorded.bytes, sum(run.lost for run in runs)

    def _last_batch(self) -> int:
        return self.recorded().last_batch

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise errors of Spark's as errors of this package."""
        doing = f"recording into {self.lake.path}"
        try:
            yield
        except SlipringError:
            raise
        except Exception as error:
            if is_gone(error):
                raise SparkGone(doing) from error
            raise (self._writer.failure or explained(error, doing)) from error


def _positions(query: Any) -> dict[str, dict[str, Any]] | None:
    """How far a query has come on each topic, from its last finished batch; None if there is none yet."""
    progress = query.lastProgress
    if progress is None or not progress.sources or not progress.sources[0].endOffset:
        return None
    topics: dict[str, dict[str, Any]] = json.loads(progress.sources[0].endOffset)["topics"]
    return topics
