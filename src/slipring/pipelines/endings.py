# SPDX-License-Identifier: Apache-2.0
"""How a recording ends: its cursors dropped, its summary told; and the Spark session of a single job."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import slipring
from slipring.errors import Busy, SlipringError, TopicGone, TopicNotFound

from . import beginnings
from .lake import Lake, MissingExtra
from .lake.locks import lock
from .lake.model import Json, Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READER_ENDS_S = 20.0  # Spark's source process may be ending only now
POLL_S = 0.05


@dataclass
class Summary:
    """What a recording recorded, over all its runs."""

    lake: str
    session: str
    ended: bool  # False: the next recording into the lake goes on with it
    topics: dict[str, dict[str, int]] = field(default_factory=dict)  # messages, lost, abandoned
    messages: int = 0
    lost: int = 0
    abandoned: int = 0
    bytes: int = 0  # as written, before files were merged
    elapsed_s: float = 0.0
    warning: str = ""

    def to_json(self) -> Json:
        return asdict(self)


def summary(lake: Lake, session: str, elapsed_s: float, warning: SlipringError | None) -> Summary:
    """What the log says of a session."""
    found = lake.refresh().sessions[session]
    told = Summary(str(lake.path), session, found.finished, bytes=found.bytes, elapsed_s=elapsed_s)
    for topic, runs in sorted(found.coverage.items()):
        counts = {name: sum(getattr(run, name) for run in runs) for name in ("messages", "lost", "abandoned")}
        told.topics[topic] = counts
        told.messages += counts["messages"]
        told.lost += counts["lost"]
        told.abandoned += counts["abandoned"]
    told.warning = f"not compacted: {warning}" if warning else ""
    return told


def end(lake: Lake, session: Session) -> None:
    """The session is over: its cursors let go of what they kept."""
    name = beginnings.cursor(lake, session.id)
    with slipring.Bus(session.about["bus"], root=session.about["root"]) as bus:
        for topic in bus.topics():
            _drop(bus, topic, name)
    lake.end(session.id)


def release(path: str | os.PathLike[str]) -> list[str]:
    """End the recordings that were left open or died, without recording more; their sessions."""
    lake = Lake.open(path)
    with lock(lake, "record"):
        found = beginnings.unfinished(lake)
        for session in found:
            end(lake, session)
        return [session.id for session in found]


def _drop(bus: slipring.Bus, topic: str, name: str) -> None:
    deadline = time.monotonic() + READER_ENDS_S
    while True:
        try:
            if any(cursor["name"] == name for cursor in bus.cursors(topic)):
                bus.drop_cursor(topic, name)
            return
        except (TopicNotFound, TopicGone):
            return
        except Busy:
            if time.monotonic() > deadline:
                raise
        time.sleep(POLL_S)


@contextmanager
def own_session(app_name: str, master: str | None) -> Iterator[SparkSession]:
    """A Spark session for one job: this process's if there is one, else one that ends with the job."""
    try:
        from pyspark.sql import SparkSession

        import slipring.spark
    except ImportError as error:
        raise MissingExtra(f'{app_name} needs Spark: pip install "slipring[spark]" ({error})') from error
    there = SparkSession.getActiveSession()
    if there is not None and master is None:
        yield there
        return
    interrupt = signal.getsignal(signal.SIGINT)
    session = slipring.spark.session(app_name, master=master)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupt)  # Spark took Ctrl-C: it is still the caller's
    try:
        yield session
    finally:
        if there is None:
            session.stop()
