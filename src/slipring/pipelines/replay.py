# SPDX-License-Identifier: Apache-2.0
"""Replay: publish a recording again, with the senders, types, time stamps and spacing it was recorded with.

    slipring.pipelines.replay("lake/", bus="desk", speed=10, topics=["imu", "cam*"])

Time stamps are the recorded ones, so that a replay that is recorded equals its original; ``times="now"``
stamps anew. A full reliable topic delays the replay (``timeout`` bounds it): back-pressure works as it did
for the first publishers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from slipring._bus.bus import Bus
from slipring._bus.settings import choice, timeout_s
from slipring.errors import Full

from . import replay_order as order
from . import replay_range as ranges
from .endings import own_session
from .failures import failures
from .lake import Lake
from .progress import Meter, Show
from .replay_feed import Feed
from .replay_pace import LOOK_EVERY_NS, Pace, read_speed
from .replay_topics import Targets, recorded_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SLICE_S = LOOK_EVERY_NS / 1e9
_LOOK_AT_CLOCK = 256  # messages


@dataclass
class Replayed:
    """What a replay did. ``late_s``: how late messages were against the recorded spacing, by percentile."""

    messages: int = 0
    bytes: int = 0
    of_messages: int = 0
    elapsed_s: float = 0.0
    waited_s: float = 0.0  # for room on reliable topics
    late_s: dict[str, float | None] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)  # messages by topic, as it is now called
    notes: list[str] = field(default_factory=list)  # what was left out, and why


class Options(TypedDict, total=False):
    """What is replayed, and how. Places are described in replay_range.py."""

    speed: float | str  # a factor, 1 by default, or "max"
    topics: Iterable[str] | None  # names or globs; all by default
    exclude: Iterable[str]  # names or globs
    start: ranges.Places  # the first message: a time, a length after the first, or sequences by topic
    end: ranges.Places  # the first message that is not replayed
    rename: Mapping[str, str] | Iterable[tuple[str, str]]  # new names, by name or glob
    times: str  # of messages: "original", or "now"
    timeout: float | None  # seconds to wait for room; None, the default, is for ever
    progress: Show | None
    outcome: Replayed  # filled while it runs, for those who stop it


def replay(
    lake: str | PathLike[str],
    *,
    bus: str | Bus = "default",
    root: str | PathLike[str] | None = None,
    master: str | None = None,
    spark: SparkSession | None = None,
    **options: Unpack[Options],
) -> Replayed:
    """Publish the recording in the directory ``lake`` on ``bus``."""
    found = Lake.open(lake)
    with ExitStack() as stack:
        target = bus if isinstance(bus, Bus) else stack.enter_context(Bus(bus, root=root))
        chosen = spark or stack.enter_context(own_session("slipring replay", master))
        return replay_rows(found.read(chosen), target, settings=recorded_settings(found), **options)


def replay_rows(
    rows: DataFrame,
    bus: Bus,
    *,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Unpack[Options],
) -> Replayed:
    """Publish rows that have a lake's columns; topics that are missing are made with ``settings``."""
    factor, wait_s = read_speed(options.get("speed", 1.0)), timeout_s(options.get("timeout"))
    stamped = choice("times", options.get("times", "original"), ("original", "now")) == 0
    outcome = options.get("outcome") or Replayed()
    rules = options.get("rename", ())
    with ExitStack() as stack:
        stack.enter_context(failures("replaying"))
        recorded = order.survey(rows)
        targets = stack.enter_context(Targets(bus, settings or {}, options.get("topics"), outcome.notes))
        wanted = ranges.choose(recorded, options.get("topics"), options.get("exclude", ()))
        chosen = {topic: recorded[topic] for topic in targets.replayable(wanted)}
        names = ranges.rename(chosen, rules.items() if isinstance(rules, Mapping) else rules)
        first = ranges.read_limits("start", options.get("start"), chosen)
        cut = order.cut(rows, chosen, first, ranges.read_limits("end", options.get("end"), chosen))
        extent = order.measure(cut)
        if not extent.messages:
            outcome.notes.append("there is no message between start and end of the chosen topics")
            return outcome
        targets.open({topic: names[topic] for topic in extent.topics})
        run = _Run(extent, Pace(factor), stamped, wait_s, targets, options.get("progress"), outcome)
        run.publish(stack.enter_context(Feed(order.packed(order.ordered(cut, extent)))))
    return outcome


class _Run:
    """One pass over the ordered messages."""

    def __init__(
        self,
        extent: order.Extent,
        pace: Pace,
        stamped: bool,
        wait_s: float | None,
        targets: Targets,
        progress: Show | None,
        outcome: Replayed,
    ) -> None:
        self._extent, self._pace, self._stamped, self._wait_s = extent, pace, stamped, wait_s
        self._targets, self._progress, self._outcome = targets, progress, outcome
        self._due_ns, self._told_s = extent.first_ns, 0.0
        self._meter: Meter | None = None  # its clock begins with the first message
        outcome.of_messages = extent.messages
        outcome.topics = {publisher.topic: 0 for publisher in targets.publishers.values()}

    def publish(self, feed: Iterable[bytes]) -> None:
        try:
            for body in feed:
                self._batch(order.unpack(body))
        finally:
            self._tell()
            self._outcome.late_s = (
                self._pace.lateness.percentiles(50, 90, 99, 99.9) if self._pace.speed else {}
            )

    def _batch(self, messages: Iterable[tuple[str, int, int, str, str, bytes]]) -> None:
        outcome, pace, publishers = self._outcome, self._pace, self._targets.publishers
        paced, stamped = pace.speed is not None, self._stamped
        self._meter = self._meter or Meter(total_rows=self._extent.messages)
        for topic, due_ns, time_ns, sender, type_, value in messages:
            due = pace.due_ns(due_ns)
            self._due_ns = due_ns
            if paced:
                pace.wait(due, self._tell_at_times)
            publisher = publishers[topic]
            stamp_ns = time_ns if stamped else time.time_ns()
            try:
                publisher._send_as(value, type_, sender, stamp_ns, 0)
            except Full:
                self._push(publisher, value, type_, sender, stamp_ns)
            if paced:
                pace.sent(due)
            outcome.messages += 1
            outcome.bytes += len(value)
            outcome.topics[publisher.topic] += 1
            if outcome.messages % _LOOK_AT_CLOCK == 0:
                self._tell_at_times()

    def _push(self, publisher: Any, *message: Any) -> None:
        """Wait for room, in slices, so that progress goes on."""
        began_s = time.monotonic()
        while True:
            waited_s = time.monotonic() - began_s
            left_s = _SLICE_S if self._wait_s is None else min(_SLICE_S, self._wait_s - waited_s)
            try:
                publisher._send_as(*message, max(0.0, left_s))
                break
            except Full:
                if self._wait_s is not None and waited_s >= self._wait_s:
                    raise Full(
                        f"topic {publisher.topic!r} had no room for {self._wait_s:g} s: "
                        "a reader is behind or stopped",
                        argument="timeout",
                    ) from None
                self._tell()
        self._outcome.waited_s += time.monotonic() - began_s

    def _tell_at_times(self) -> None:
        if time.monotonic() - self._told_s >= _SLICE_S:
            self._tell()

    def _tell(self) -> None:
        outcome, self._told_s = self._outcome, time.monotonic()
        if self._meter is None:
            return
        figures = self._meter.figures(outcome.messages, outcome.bytes)
        if self._pace.speed is not None:
            left_ns = (self._extent.last_ns - self._due_ns) / self._pace.speed
            figures = replace(figures, eta_s=left_ns / 1e9)
        outcome.elapsed_s = figures.elapsed_s
        if self._progress is not None:
            self._progress(figures)
