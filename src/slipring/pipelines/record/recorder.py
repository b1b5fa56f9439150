# SPDX-License-Identifier: Apache-2.0
"""The streaming query of a recording: started, watched, brought to its end.

The end is exact: it is told to the running query (ends.py), which takes what is before it and then has nothing to do;
only then it is stopped. With long triggers a last query without one does that. A query that Spark failed (its source's
process died, a worker did not come up) is started again, unless that happens again and again without a batch in
between.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import slipring
from slipring._bus.logs import log
from slipring.errors import SlipringError

from ..errors import JobFailed, SparkGone, explained, is_gone
from ..lake import Lake, topics
from ..lake.model import Session
from ..progress import Meter, QueryWatch, Show
from . import backlog, ends
from .batch_plan import is_there
from .batch_writer import BatchWriter
from .limits import Limits
from .session import Subscription, checkpoint, cursor, drop_half_written
from .source import RecordingSource
from .tails import Tails

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_S = 0.25
FAILURES_IN_A_ROW = 6  # Spark finds out one by one which of its Python processes are dead
ROWS_OF_A_TASK = 100_000
BYTES_OF_A_BATCH = 1 << 30
LONG_TRIGGER_S = 1.0  # who ends a recording does not wait longer for the next batch


class Recorder:
    """Records one session of a lake."""

    def __init__(
        self,
        spark: SparkSession,
        lake: Lake,
        bus: slipring.Bus,
        subscription: Subscription,
        session: str,
        tails: Tails,
        limits: Limits,
        *,
        every_s: float,
        sync: bool,
    ) -> None:
        self.spark, self.lake, self.bus = spark, lake, bus
        self.subscription, self.session = subscription, session
        self._tails, self._limits = tails, limits
        self._every_s = every_s
        self._sync = sync
        self._writer = BatchWriter(lake.path, session)
        self._meter = Meter(begun_s=limits.begun_s)
        self._ends: ends.Ends | None = None  # decided
        self._is_over = False  # everything before the end is recorded

    def run(self, show: Show | None, begun: Callable[[], None]) -> None:
        """Record until the limits are reached; begun() is called after the first batch."""
        self.note_topics()
        while not self._is_over:
            self._insist(lambda: self._attempt(show, begun))

    def _insist(self, attempt: Callable[[], None]) -> None:
        """A query that Spark gave up goes on where it was, unless that comes to nothing several times in a row."""
        failures = 0
        while True:
            batch = self._last_batch()
            try:
                attempt()
                return
            except JobFailed as error:
                failures = failures + 1 if self._last_batch() == batch else 1
                if error.ours or failures >= FAILURES_IN_A_ROW:
                    raise
                log("record", "warning", "session %s: its query is started again: %s", self.session, error)
            time.sleep(POLL_S)

    def _attempt(self, show: Show | None, begun: Callable[[], None]) -> None:
        self._ends = self._limits.reached(
            0.0, self._tails.ends
        )  # it may have been decided while Spark started
        query = self._start()
        try:
            self._watch(query, show, begun)
        finally:
            self._stop(query)

    def note_topics(self) -> None:
        """Keep with the data how its topics are set up: one may be gone when its first batch is there."""
        for topic in self.subscription.matching(self.bus):
            topics.note(self.lake, self.bus, topic)

    def recorded(self) -> Session:
        return self.lake.refresh().sessions[self.session]

    def _starting(self) -> str:
        """The source's startingOffsets, for a checkpoint that has none: where the recording began. Topics that came
        since are taken from their first message on."""
        found = {}
        for topic, (generation, _) in self._tails.ends().items():
            first = self._tails.first(topic, generation)
            if first is not None and is_there(self.bus, topic, generation):
                found[topic] = first
        return json.dumps(found)

    def _start(self) -> Any:
        options = {
            "bus": self.bus.name,
            "root": self.bus.root,
            "groupId": cursor(self.lake, self.session),
            "startingOffsets": self._starting(),
            "failOnDataLoss": "false",
            "includeGaps": "true",
            "lake": str(self.lake.path),
            "sync": str(self._sync).lower(),
            "ends": str(ends.path_of(self.lake, self.session)),
            "maxRecordsPerPartition": str(ROWS_OF_A_TASK),
            "maxBytesPerTrigger": str(BYTES_OF_A_BATCH),
        }
        options.update([self.subscription.option()])
        with self._explained():
            where = checkpoint(self.lake, self.session)
            drop_half_written(where)
            self.spark.dataSource.register(RecordingSource)
            stream = self.spark.readStream.format(RecordingSource.name()).options(**options).load()
            writer = stream.writeStream.foreachBatch(self._writer).queryName(f"record-{self.session}")
            writer = writer.option("checkpointLocation", str(where))
            if self._every_s and self._ends is None:
                writer = writer.trigger(processingTime=f"{int(self._every_s * 1000)} milliseconds")
            self._writer.stopped = False
            return writer.start()

    def _watch(self, query: Any, show: Show | None, begun: Callable[[], None]) -> None:
        with self._explained():
            watch = QueryWatch(query, counts=self._counts, meter=self._meter)
            rows, since, started = -1, time.monotonic(), False
            while query.isActive:
                figures = watch.figures()
                if not started and watch.begun:
                    started = True
                    begun()
                if figures.rows != rows:
                    rows = figures.rows
                    self.note_topics()
                    since = time.monotonic()
                if not self._has_all(query):
                    since = time.monotonic()  # a batch that takes long is not idle
                if show is not None:
                    show(figures)
                if started and self._ends is None:
                    self._ends = self._limits.reached(time.monotonic() - since, self._tails.ends)
                    if self._ends is not None and self._every_s > LONG_TRIGGER_S:
                        return
                if started and self._ends is not None and self._has_ended(query, self._ends):
                    self._is_over = True
                    return
                query.awaitTermination(POLL_S)
            failure = query.exception()
            if failure is not None:
                raise self._writer.failure or explained(failure, f"recording into {self.lake.path}")
            if self._ends is None:  # somebody else stopped it
                self._limits.decide(self._tails.ends())

    def _has_ended(self, query: Any, wanted: ends.Ends) -> bool:
        """Whether everything before the end is recorded; a topic that is gone brings nothing more."""
        positions = backlog.reached(query)
        if positions is None:
            return False
        for topic, (generation, end) in wanted.items():
            at = positions.get(topic)
            if at is not None and at["generation"] == generation and at["next"] >= end:
                continue
            first = self._tails.first(topic, generation)
            if at is None and first is not None and end <= first:
                continue  # nothing came on it
            if is_there(self.bus, topic, generation):
                return False
        return True

    def _has_all(self, query: Any) -> bool:
        positions = backlog.reached(query)
        return positions is not None and not backlog.is_behind(
            positions, self.bus, self.subscription.matching(self.bus)
        )

    def _stop(self, query: Any) -> None:
        """Between two batches, if it still runs: when the end is reached there are no more."""
        self._writer.stop()
        try:
            query.stop()
        except Exception as error:
            if not is_gone(error):
                raise

    def _counts(self) -> tuple[int, int, int]:
        recorded = self.recorded()
        runs = [run for runs in recorded.coverage.values() for run in runs]
        return sum(run.messages for run in runs), recorded.bytes, sum(run.lost for run in runs)

    def _last_batch(self) -> int:
        return self.recorded().last_batch

    def _explained(self) -> _Explained:
        return _Explained(f"recording into {self.lake.path}", self._writer)


class _Explained:
    """Errors of Spark's inside it become ours."""

    def __init__(self, doing: str, writer: BatchWriter) -> None:
        self._doing = doing
        self._writer = writer

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        if error is None or isinstance(error, SlipringError) or not isinstance(error, Exception):
            return
        if is_gone(error):
            raise SparkGone(self._doing) from error
        raise (self._writer.failure or explained(error, self._doing)) from error
