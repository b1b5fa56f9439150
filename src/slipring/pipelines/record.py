# SPDX-License-Identifier: Apache-2.0
"""record: topics into a lake, exactly once, whatever is killed and restarted on the way."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import slipring
from slipring.errors import BadArgument

from . import beginnings, endings
from .compactor import Compactor
from .endings import Summary
from .lake import Lake, delta, mark
from .lake.locks import lock
from .lake.model import Session
from .lake.stage import sweep
from .progress import Figures, Show

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

    topics: names or shell patterns ("imu", "camera.*"). pre_buffer: begin with what the rings still hold
    (True), or with the last so many seconds of it; otherwise with what is published from now on. table:
    "parquet", or "delta" to keep a Delta table as well. every_s: time between batches; 0 is as often as Spark
    can. sync: files are on disk before they count. compact_every_s: merge small files so often, None never.
    leave_open: do not end the recording, so that the next one goes on with it, and reliable topics keep what
    comes in between; so does an exception, KeyboardInterrupt among them."""
    limits = _Limits(for_s, until_idle_s, stop)
    _check(pre_buffer, every_s)
    subscription = beginnings.Subscription.of(topics)
    with ExitStack() as stack:
        source = stack.enter_context(slipring.Bus(bus, root=root))
        present = subscription.present(source)
        lake = Lake.create(to, table=table or mark.table_of(to))
        stack.enter_context(lock(lake, "record"))
        chosen = spark or stack.enter_context(endings.own_session("slipring record", master))
        sweep(lake, "record")
        delta.mirror(lake)
        begun = time.monotonic()
        session, before = _session(lake, source, subscription)
        from .recorder import Recorder

        starting = beginnings.starting(lake, source, present, pre_buffer, before)
        recorder = Recorder(chosen, lake, source, subscription, session, starting, every_s=every_s, sync=sync)
        compactor = Compactor(lake, compact_every_s)
        stack.callback(compactor.stop)
        compactor.start()
        recorder.run(limits.over, limits.shown(progress), lambda: _followed(lake, session, before))
        if not leave_open and not limits.idle:
            recorder.drain(progress)
        recorder.note_topics()
        compactor.stop()
        if not leave_open:
            endings.end(lake, lake.state.sessions[session])
        return endings.summary(lake, session, time.monotonic() - begun, compactor.failure)


def _session(
    lake: Lake, bus: slipring.Bus, subscription: beginnings.Subscription
) -> tuple[str, Session | None]:
    """The session to record, and the unfinished one that it goes on with: itself, or one before it."""
    wanted = beginnings.about(subscription, bus)
    last = beginnings.to_follow(lake, wanted)
    if last is not None and beginnings.can_go_on(lake, last, wanted):
        return last.id, last
    return lake.begin(wanted), last


def _followed(lake: Lake, session: str, before: Session | None) -> None:
    """The new session holds what it needs: one that it follows can let go."""
    if before is not None and before.id != session:
        endings.end(lake, before)


def _check(pre_buffer: bool | float, every_s: float) -> None:
    if not isinstance(pre_buffer, bool) and not pre_buffer > 0:
        raise BadArgument(f"pre_buffer={pre_buffer!r} is not above zero", argument="pre_buffer")
    if not every_s >= 0:
        raise BadArgument(f"every_s={every_s!r} is not zero or more", argument="every_s")


class _Limits:
    """When a recording is over."""

    def __init__(self, for_s: float | None, until_idle_s: float | None, stop: threading.Event | None) -> None:
        for name, value in (("for_s", for_s), ("until_idle_s", until_idle_s)):
            if value is not None and not value > 0:
                raise BadArgument(f"{name}={value!r} is not above zero", argument=name)
        self._for_s = for_s
        self._until_idle_s = until_idle_s
        self._stop = stop or threading.Event()
        self._begun: float | None = None
        self.idle = False  # it ended because nothing came: there is nothing left to take

    def shown(self, show: Show | None) -> Show | None:
        """The same with the time that is left."""
        if show is None or self._for_s is None:
            return show
        for_s = self._for_s

        def with_eta(figures: Figures) -> None:
            passed = 0.0 if self._begun is None else time.monotonic() - self._begun
            show(replace(figures, eta_s=max(for_s - passed, 0.0)))

        return with_eta

    def over(self, figures: Figures, idle_s: float) -> bool:
        """Asked again and again, from when the first batch was there on."""
        now = time.monotonic()
        self._begun = self._begun or now
        if self._stop.is_set() or (self._for_s is not None and now - self._begun >= self._for_s):
            return True
        self.idle = self._until_idle_s is not None and idle_s >= self._until_idle_s
        return self.idle
