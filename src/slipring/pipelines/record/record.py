# SPDX-License-Identifier: Apache-2.0
"""record: topics into a lake, exactly once, whatever is killed and restarted on the way."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import slipring
from slipring._bus.logs import log
from slipring.errors import BadArgument

from .. import jvm
from ..lake import Lake, delta
from ..lake import marker as mark
from ..lake.local_path import local
from ..lake.locks import lock
from ..lake.model import Session
from ..lake.stage import sweep
from ..progress import Show, in_notebook
from . import ends
from . import finish as endings
from . import session as beginnings
from .compactor import Compactor
from .finish import Summary
from .limits import Limits
from .tails import Tails

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
    """Record topics into the lake `to` until `for_s` is over, nothing came for `until_idle_s`, or `stop` is
    set.

    It begins now, not when Spark is ready: reliable topics keep what comes meanwhile, and what a lossy topic loses is
    counted. `for_s` counts from now, and ends the recording with what was published until then.

    topics: names or shell patterns ("imu", "camera.*"). pre_buffer: begin with what the rings still hold
    (True), or with the last so many seconds of it; otherwise with what is published from now on. table:
    "parquet", or "delta" to keep a Delta table as well. every_s: time between batches; 0 is as often as Spark
    can. sync: files are on disk before they count. compact_every_s: merge small files so often, None never.
    progress: called with figures while it runs; by default a notebook has a display of them.
    leave_open: do not end the recording, so that the next one goes on with it, and reliable topics keep what
    comes in between; so does an exception, KeyboardInterrupt among them."""
    where = local(to, "to")
    limits = Limits(for_s, until_idle_s, stop)
    _check(pre_buffer, every_s)
    subscription = beginnings.Subscription.of(topics)
    jvm.needed("slipring record")
    with ExitStack() as stack:
        source = stack.enter_context(slipring.Bus(bus, root=root))
        present = subscription.present(source)
        lake = Lake.create(where, table=table or mark.table_of(where))
        stack.enter_context(lock(lake, "record"))
        session, before = _session(lake, source, subscription)
        tails = Tails(lake, session, source, subscription)
        stack.callback(tails.close)
        stack.callback(limits.close)
        with _begun_or_ended(lake, session, before):
            # From here on everything is kept, or counted: Spark takes seconds to start.
            starts = beginnings.starts(lake, source, present, pre_buffer, before)
            if before is None or before.id != session:
                starts = beginnings.hold(source, starts, beginnings.cursor(lake, session))
            tails.begin(starts, resumed=before is not None and before.id == session)
            limits.begin(tails, ends.path_of(lake, session))
            shown = limits.shown(stack.enter_context(in_notebook("recording", progress)))
            chosen = spark or stack.enter_context(endings.own_session("slipring record", master, shown))
            _check_executors(chosen, source)
        sweep(lake, "record")
        delta.mirror(lake)
        from .recorder import Recorder

        recorder = Recorder(
            chosen, lake, source, subscription, session, tails, limits, every_s=every_s, sync=sync
        )
        compactor = Compactor(lake, compact_every_s)
        stack.callback(compactor.stop)
        compactor.start()
        recorder.run(shown, lambda: _followed(lake, session, before))
        recorder.note_topics()
        compactor.stop()
        limits.close()
        tails.look()
        tails.save()
        if not leave_open:
            endings.end(lake, lake.refresh().sessions[session])
        return endings.summary(lake, session, limits.passed_s(), compactor.failure)


@contextmanager
def _begun_or_ended(lake: Lake, session: str, before: Session | None) -> Iterator[None]:
    """A new session that Spark does not even start for holds nothing back."""
    try:
        yield
    except BaseException:
        if before is None or before.id != session:
            endings.end(lake, lake.refresh().sessions[session])
        raise


def _check_executors(spark: SparkSession, bus: slipring.Bus) -> None:
    """OtherHost unless every executor sees the bus; one of Spark Connect cannot be asked, its tasks find out."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return
    from slipring.spark import executors

    executors.probe(spark, bus)


def _session(
    lake: Lake, bus: slipring.Bus, subscription: beginnings.Subscription
) -> tuple[str, Session | None]:
    """The session to record, and the unfinished one that it goes on with: itself, or one before it."""
    wanted = beginnings.about(subscription, bus)
    last = beginnings.to_follow(lake, bus)
    if last is not None and beginnings.can_go_on(lake, last, wanted):
        log("record", "info", "session %s goes on in %s", last.id, lake.path)
        return last.id, last
    session = lake.begin(wanted)
    log("record", "info", "session %s begins in %s", session, lake.path)
    return session, last


def _followed(lake: Lake, session: str, before: Session | None) -> None:
    """The new session holds what it needs: one that it follows can let go."""
    if before is not None and before.id != session:
        endings.end(lake, before)


def _check(pre_buffer: bool | float, every_s: float) -> None:
    if not isinstance(pre_buffer, bool) and not pre_buffer > 0:
        raise BadArgument(f"pre_buffer={pre_buffer!r} is not above zero", argument="pre_buffer")
    if not every_s >= 0:
        raise BadArgument(f"every_s={every_s!r} is not zero or more", argument="every_s")
