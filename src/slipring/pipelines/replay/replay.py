# SPDX-License-Identifier: Apache-2.0
"""Replay: publish a recording again, with the senders, types, time stamps and spacing it was recorded with.

    slipring.pipelines.replay.replay("lake/", bus="desk", speed=10, topics=["imu", "cam*"])

Time stamps are the recorded ones, so that a replay that is recorded equals its original; ``times="now"``
stamps anew. A full reliable topic delays the replay (``timeout`` bounds it): back-pressure works as it did
for the first publishers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from slipring._bus.bus import Bus
from slipring._bus.logs import log
from slipring._bus.settings import choice, timeout_s

from ..errors import failures
from ..job_session import job_session
from ..lake import Lake
from ..progress import Show, in_notebook, stage
from . import order
from . import range as ranges
from .feed import Feed
from .pace import Pace, read_speed
from .run import Replayed, Run
from .topics import Targets, recorded_settings

__all__ = ["Options", "Replayed", "replay", "replay_rows"]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
    progress: Show | None  # by default a notebook has a display of it
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
    _manner(options)
    found = Lake.open(lake)
    with ExitStack() as stack:
        target = bus if isinstance(bus, Bus) else stack.enter_context(Bus(bus, root=root))
        shown = options["progress"] = stack.enter_context(in_notebook("replaying", options.get("progress")))
        chosen = spark or stack.enter_context(
            job_session("slipring replay", master, shown, rows=found.rows())
        )
        return replay_rows(found.read(chosen), target, settings=recorded_settings(found), **options)


def replay_rows(
    rows: DataFrame,
    bus: Bus,
    *,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Unpack[Options],
) -> Replayed:
    """Publish rows that have a lake's columns; topics that are missing are made with ``settings``."""
    factor, wait_s, stamped = _manner(options)
    outcome = options.get("outcome") or Replayed()
    rules = options.get("rename", ())
    with ExitStack() as stack:
        stack.enter_context(failures("replaying"))
        shown = stack.enter_context(in_notebook("replaying", options.get("progress")))
        with stage("reading the recording", shown):
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
        targets.open({topic: names[topic] for topic in extent.topics}, extent.largest)
        log("replay", "info", "%d messages of %d topics go to %r", extent.messages, len(extent.topics), bus)
        run = Run(extent, Pace(factor), stamped, wait_s, targets, shown, outcome)
        run.publish(stack.enter_context(Feed(order.packed(order.ordered(cut, extent)))))
        log("replay", "info", "%d messages are replayed", outcome.messages)
    return outcome


def _manner(options: Options) -> tuple[float | None, float | None, bool]:
    """Speed, time-out, and whether stamps are kept: what can be wrong without a look at the recording."""
    stamped = choice("times", options.get("times", "original"), ("original", "now")) == 0
    return read_speed(options.get("speed", 1.0)), timeout_s(options.get("timeout")), stamped
