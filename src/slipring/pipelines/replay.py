# SPDX-License-Identifier: Apache-2.0
"""Replay: publish a recording again, with the senders, types, time stamps and spacing it was recorded with.

    slipring.pipelines.replay(spark, "lake/", slipring.Bus("desk"), speed=10, topics=["imu", "cam*"])

Time stamps are the recorded ones, so that a replay that is recorded equals its original; ``times="now"`` stamps anew.
A full reliable topic delays the replay (``timeout`` bounds it): back-pressure works as with the first publishers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from slipring._bus.bus import Bus
from slipring._bus.settings import choice, timeout_s
from slipring.errors import Full

from . import replay_order as order
from . import replay_range as ranges
from .progress import Meter, Show
from .replay_feed import Feed
from .replay_pace import LOOK_EVERY_NS, Pace, read_speed
from .replay_topics import Targets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SLICE_S = LOOK_EVERY_NS / 1e9
_LOOK_AT_CLOCK = 256  # messages


@dataclass
class Replayed:
    """What a replay did. ``late_s``: how late messages were against the recording's own spacing, by percentile."""

    messages: int = 0
    bytes: int = 0
    of_messages: int = 0
    elapsed_s: float = 0.0
    waited_s: float = 0.0  # for room on reliable topics
    late_s: dict[str, float | None] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)  # messages by topic, as it is now called
    notes: list[str] = field(default_factory=list)  # what was left out, and why


def replay(
    spark: SparkSession,
    lake: str | PathLike[str],
    bus: Bus,
    **options: Any,
) -> Replayed:
    """Publish the recording in the directory ``lake`` on ``bus``. Options: see ``replay_rows``."""
    from .lake import Lake

    found = Lake.open(lake)
    return replay_rows(found.read(spark), bus, settings=found.settings(), **options)


def replay_rows(
    rows: DataFrame,
    bus: Bus,
    *,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    speed: float | str = 1.0,
    topics: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    start: ranges.Places = None,
    end: ranges.Places = None,
    rename: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    times: str = "original",
    timeout: float | None = None,
    progress: Show | None = None,
    outcome: Replayed | None = None,
) -> Replayed:
    """Publish rows of a lake (its columns) on ``bus``.

    settings: of each topic, for those that are missing. speed: a factor, or "max". topics, exclude: names or globs.
    start, end: a time, a length after the first message, or sequences by topic (replay_range). rename: new names, by
    name or glob. times: "original", or "now" for new stamps. timeout: seconds to wait for room, None for ever. outcome:
    filled while it runs, for those who stop it.
    """
    factor, wait_s = read_speed(speed), timeout_s(timeout)
    stamped = choice("times", times, ("original", "now")) == 0
    recorded = order.survey(rows)
    outcome = Replayed() if outcome is None else outcome
    chosen = ranges.choose(recorded, topics, exclude)
    with ExitStack() as stack:
        targets = stack.enter_context(Targets(bus, settings or {}, topics, outcome.notes))
        chosen = {topic: recorded[topic] for topic in targets.replayable(chosen)}
        rules = rename.items() if isinstance(rename, Mapping) else rename
        names = ranges.rename(chosen, rules)
        first, last = (
            ranges.read_limits(name, places, chosen) for name, places in (("start", start), ("end", end))
        )
        cut = order.cut(rows, chosen, first, last)
        extent = order.measure(cut)
        if not extent.messages:
            outcome.notes.append("there is no message between start and end of the chosen topics")
            return outcome
        targets.open({topic: names[topic] for topic in extent.topics})
        run = _Run(extent, Pace(factor), stamped, wait_s, targets, progress, outcome)
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
                        f"topic {publisher.topic!r} had no room for {self._wait_s:g} s: a reader is behind or stopped",
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
