# SPDX-License-Identifier: Apache-2.0
"""record: topics into a lake, exactly once, also if processes are killed and restarted meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import slipring
from slipring._bus.logs import log
from slipring.errors import BadArgument

from .. import job_session, jvm
from ..job_progress import Show, in_notebook
from ..lake import Lake, delta, marker
from ..lake.local_path import local
from ..lake.locks import lock
from ..lake.model import Session
from ..lake.stage import sweep
from . import begin, end_offsets
from .begin import Subscription
from .compactor import Compactor
from .finish import Summary, end, summary
from .limits import Limits
from .topic_extents import TopicExtents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY_S = 0.5
COMPACT_EVERY_S = 30.0


def record(
    topics: str | Iterable[str],
    to: str | os.PathLike[str],
    *,
    bus: str = "default",
    root: str | os.PathLike[str] | None = None,
    for_s: float | None = None,
    until_idle_s: float | None = None,
    pre_buffer: bool | float = False,
    table: str | None = None,
    leave_open: bool = False,
    every_s: float = EVERY_S,
    compact_every_s: float | None = COMPACT_EVERY_S,
    sync: bool = True,
    master: str | None = None,
    spark: SparkSession | None = None,
    progress: Show | None = None,
    stop: threading.Event | None = None,
) -> Summary:
    """Record topics into the lake `to` for `for_s` seconds, until no message comes for `until_idle_s`, or until `stop`
    is set.

    The recording begins with the call, not when Spark is ready. Reliable topics keep messages meanwhile, and losses of
    lossy topics are counted. `for_s` counts from the call: messages published until then are recorded.

    topics: names or shell patterns ("imu", "camera.*").
    pre_buffer: True begins with everything that the rings still hold, a number with its last seconds. By default the
        recording begins with the next message.
    table: "parquet", or "delta" to keep a Delta table as well.
    every_s: seconds between batches; 0 is as often as Spark can.
    sync: force files to disk before they count.
    compact_every_s: seconds between merges of small files; None never merges.
    progress: a function that is called with figures; by default a notebook displays them.
    leave_open: do not end the session. The next recording resumes it, and reliable topics keep messages until then. An
        exception leaves the session open, too, KeyboardInterrupt included."""
    where = local(to, "to")
    limits = Limits(for_s, until_idle_s, stop)
    _check(pre_buffer, every_s)
    subscription = Subscription.of(topics)
    jvm.needed("slipring record")
    with ExitStack() as stack:
        source = stack.enter_context(slipring.Bus(bus, root=root))
        present = subscription.present(source)
        lake = Lake.create(where, table=table or marker.table_of(where))
        stack.enter_context(lock(lake, "record"))
        current, previous = _session(lake, source, subscription)
        resumed = previous is not None and previous.id == current
        extents = TopicExtents(lake, current, source, subscription)
        stack.callback(extents.close)
        stack.callback(limits.close)
        with _ended_if_it_fails(lake, current, resumed=resumed):
            # From here on every message is kept or counted. Spark takes seconds to start.
            starts = begin.start_offsets(lake, source, present, pre_buffer, previous)
            if not resumed:
                starts = begin.create_cursors(source, starts, begin.cursor_name(lake, current))
            extents.start(starts, resumed=resumed)
            limits.start(extents, end_offsets.path_of(lake, current))
            shown = limits.with_time_left(stack.enter_context(in_notebook("recording", progress)))
            chosen = spark or stack.enter_context(job_session.job_session("slipring record", master, shown))
            _check_executors(chosen, source)
        sweep(lake, "record")
        delta.mirror(lake)
        from .recorder import Recorder  # it imports PySpark

        recorder = Recorder(
            chosen, lake, source, subscription, current, extents, limits, every_s=every_s, sync=sync
        )
        compactor = Compactor(lake, compact_every_s)
        stack.callback(compactor.stop)
        compactor.start()
        recorder.run(shown, lambda: _end_followed(lake, current, previous))
        recorder.note_topics()
        compactor.stop()
        limits.close()
        extents.update()
        extents.save()
        if not leave_open:
            end(lake, lake.refresh().sessions[current])
        return summary(lake, current, limits.elapsed_s(), compactor.failure)


@contextmanager
def _ended_if_it_fails(lake: Lake, current: str, *, resumed: bool) -> Iterator[None]:
    """End a new session for which Spark does not even start: it must not hold messages back."""
    try:
        yield
    except BaseException:
        if not resumed:
            end(lake, lake.refresh().sessions[current])
        raise


def _check_executors(spark: SparkSession, bus: slipring.Bus) -> None:
    """OtherHost unless every executor sees the bus. Those of Spark Connect cannot be asked: their tasks fail then."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return
    from slipring.spark import executors

    executors.probe(spark, bus)


def _session(lake: Lake, bus: slipring.Bus, subscription: Subscription) -> tuple[str, Session | None]:
    """Return the session to record, and the unfinished one that it resumes (the same one) or follows."""
    wanted = begin.description(subscription, bus)
    last = begin.last_unfinished(lake, bus)
    if last is not None and begin.can_resume(lake, last, wanted):
        log("record", "info", "session %s in %s is resumed", last.id, lake.path)
        return last.id, last
    new = lake.begin(wanted)
    log("record", "info", "session %s in %s begins", new, lake.path)
    return new, last


def _end_followed(lake: Lake, current: str, previous: Session | None) -> None:
    """End the session that a new one follows: the cursors of the new one keep what is needed."""
    if previous is not None and previous.id != current:
        end(lake, previous)


def _check(pre_buffer: bool | float, every_s: float) -> None:
    if not isinstance(pre_buffer, bool) and not pre_buffer > 0:
        raise BadArgument(f"pre_buffer={pre_buffer!r} must be True, False or above 0", argument="pre_buffer")
    if not every_s >= 0:
        raise BadArgument(f"every_s={every_s!r} must be 0 or more", argument="every_s")
