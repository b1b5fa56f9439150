# SPDX-License-Identifier: Apache-2.0
"""Replay: publish a recording again, with the senders, types, time stamps and spacing it was recorded with.

    slipring.pipelines.replay.replay("lake/", bus="lab", speed=10, topics=["imu", "cam*"])

Time stamps are the recorded ones, so that a recording of a replay equals the original; ``times="now"`` makes new ones.
A full reliable topic delays the replay, at most for ``timeout``: back-pressure works as for the first publishers.
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
from ..job_progress import Show, in_notebook, stage
from ..job_session import job_session
from ..lake import Lake
from . import order
from . import range as ranges
from .feed import Feed
from .pace import Pace, read_speed
from .publishing import Replayed, Run
from .targets import Schemas, Targets, recorded_settings

__all__ = ["Options", "Replayed", "replay", "replay_rows"]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Options(TypedDict, total=False):
    """What is replayed, and how. Positions are described in range.py."""

    speed: float | str  # a factor, 1 by default, or "max"
    topics: Iterable[str] | None  # names or globs; all by default
    exclude: Iterable[str]  # names or globs
    start: (
        ranges.Positions
    )  # the first message: a time, a duration after the first message, or sequences by topic
    end: ranges.Positions  # the first message that is not replayed
    rename: Mapping[str, str] | Iterable[tuple[str, str]]  # new names, by name or glob
    times: str  # of messages: "original", or "now"
    timeout: float | None  # seconds to wait for room; None, the default, is without limit
    progress: Show | None  # by default a notebook displays it
    outcome: Replayed  # filled during the replay, for a caller that may stop it


def replay(
    lake: str | PathLike[str],
    *,
    bus: str | Bus = "default",
    root: str | PathLike[str] | None = None,
    master: str | None = None,
    spark: SparkSession | None = None,
    **options: Unpack[Options],
) -> Replayed:
    """Publish the recording in the directory ``lake`` on ``bus``, and return what was replayed."""
    _checked(options)
    found = Lake.open(lake)
    with ExitStack() as stack:
        target = bus if isinstance(bus, Bus) else stack.enter_context(Bus(bus, root=root))
        shown = options["progress"] = stack.enter_context(in_notebook("replaying", options.get("progress")))
        chosen = spark or stack.enter_context(
            job_session("slipring replay", master, shown, rows=found.rows())
        )
        settings, schemas = recorded_settings(found), found.schemas
        return replay_rows(found.read(chosen), target, settings=settings, schemas=schemas, **options)


def replay_rows(
    rows: DataFrame,
    bus: Bus,
    *,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    schemas: Schemas | None = None,
    **options: Unpack[Options],
) -> Replayed:
    """Publish rows with the columns of a lake. Missing topics are created with ``settings`` and ``schemas``."""
    factor, wait_s, stamped = _checked(options)
    outcome = options.get("outcome") or Replayed()
    rules = options.get("rename", ())
    with ExitStack() as stack:
        stack.enter_context(failures("replaying"))
        shown = stack.enter_context(in_notebook("replaying", options.get("progress")))
        with stage("reading the recording", shown):
            recorded = order.recorded_topics(rows)
            named = options.get("topics")
            targets = stack.enter_context(Targets(bus, settings or {}, schemas, named, outcome.notes))
            wanted = ranges.choose(recorded, options.get("topics"), options.get("exclude", ()))
            chosen = {topic: recorded[topic] for topic in targets.replayable(wanted)}
            names = ranges.rename(chosen, rules.items() if isinstance(rules, Mapping) else rules)
            first = ranges.read_limits("start", options.get("start"), chosen)
            cut = order.cut(rows, chosen, first, ranges.read_limits("end", options.get("end"), chosen))
            extent = order.measure(cut)
        if not extent.messages:
            outcome.notes.append("the chosen topics have no message between start and end")
            return outcome
        targets.open({topic: names[topic] for topic in extent.topics}, extent)
        log(
            "replay",
            "info",
            "replaying %d messages of %d topics onto %r",
            extent.messages,
            len(extent.topics),
            bus,
        )
        run = Run(extent, Pace(factor), stamped, wait_s, targets, shown, outcome)
        run.publish(stack.enter_context(Feed(order.packed(order.ordered(cut, extent)))))
        log("replay", "info", "%d messages were replayed", outcome.messages)
    return outcome


def _checked(options: Options) -> tuple[float | None, float | None, bool]:
    """Return speed, time-out, and whether time stamps are kept: the options that do not depend on the recording."""
    stamped = choice("times", options.get("times", "original"), ("original", "now")) == 0
    return read_speed(options.get("speed", 1.0)), timeout_s(options.get("timeout")), stamped
