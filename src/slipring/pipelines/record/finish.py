# SPDX-License-Identifier: Apache-2.0
"""How a recording ends: its cursors dropped, its summary told; and the Spark session of a single job."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import slipring
from slipring._bus.logs import log
from slipring.errors import Busy, SlipringError, TopicGone, TopicNotFound

from .. import jvm
from ..lake import Lake, MissingExtra, OtherHostsRecording, delta
from ..lake.locks import lock
from ..lake.model import Json, Session
from ..lake.stage import Stage
from ..progress import Show, stage
from . import hosts, tails
from . import session as beginnings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READER_ENDS_S = 20.0  # Spark's source process may be ending only now
POLL_S = 0.05
FEW_ROWS = 200_000
SHORT = {  # little data: planning and compiling a query takes longer than computing it
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}


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

    def _repr_html_(self) -> str:
        """For a notebook."""
        from slipring.pipelines.notebook import of_summary

        return of_summary(self)


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
    """The session is over: what was lost with removed topics is recorded, and its cursors let go of what they kept."""
    name = beginnings.cursor(lake, session.id)
    with slipring.Bus(session.about["bus"], root=session.about["root"]) as bus:
        _record_lost(lake, session, bus)
        for topic in bus.topics():
            _drop(bus, topic, name)
    lake.end(session.id)
    log("record", "info", "session %s is ended in %s", session.id, lake.path)
    tails.path_of(lake, session.id).unlink(missing_ok=True)


def _record_lost(lake: Lake, session: Session, bus: slipring.Bus) -> None:
    pieces = tails.lost(lake, session, bus)
    if not pieces:
        return
    from ..lake import holes

    for one in pieces:
        log(
            "record", "warning", "session %s: topic '%s' was removed with %d messages not yet recorded",
            session.id, one.topic, one.end - one.first,
        )  # fmt: skip
    place = Stage(lake, "record")
    try:
        found = holes.write(place.path, [(one.topic, one.generation, one.first, one.end) for one in pieces])
        lake.add_holes(session.id, found)
    finally:
        place.remove()
    delta.mirror(lake)


def release(path: str | os.PathLike[str]) -> list[str]:
    """End the recordings of this host that were left open or died, without recording more; their sessions.

    OtherHostsRecording when there are only such of other hosts, whose topics are not to be seen here."""
    lake = Lake.open(path)
    with lock(lake, "record"):
        found = beginnings.unfinished(lake)
        own = [session for session in found if _is_here(session)]
        for session in own:
            end(lake, session)
        if found and not own:
            raise OtherHostsRecording(lake.path, found[0].id, hosts.name_of(found[0]))
        return [session.id for session in own]


def _is_here(session: Session) -> bool:
    with slipring.Bus(session.about["bus"], root=session.about["root"]) as bus:
        return hosts.may_release(session, bus)


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


def is_short(lake: Lake) -> bool:
    """Whether a job over the whole recording has little to compute."""
    return sum(file.rows for file in lake.files()) <= FEW_ROWS


@contextmanager
def own_session(
    app_name: str, master: str | None, progress: Show | None = None, *, short: bool = False
) -> Iterator[SparkSession]:
    """A Spark session for one job: this process's if there is one, else one that ends with the job.

    short: the job has little to compute."""
    there = _session_of_this_process()
    if there is not None and master is None:
        yield there
        return
    with stage("starting Spark", progress):
        session = _started(app_name, master, short)
    try:
        yield session
    finally:
        if there is None:
            # Each thread has a connection to the JVM. An exception may have left this one's in the middle of a call.
            with ThreadPoolExecutor(1) as apart:
                apart.submit(session.stop).result()


def _session_of_this_process() -> SparkSession | None:
    if "pyspark" not in sys.modules:
        return None  # importing it takes longer than everything before Spark starts
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _started(app_name: str, master: str | None, short: bool) -> SparkSession:
    where = master or os.environ.get("SPARK_MASTER") or "local[*]"
    starting = None if where.startswith("sc://") else jvm.launch(app_name, where, short=short)
    try:
        import slipring.spark

        if starting is not None:
            starting.connect()
        with _ctrl_c_stays_ours():
            return slipring.spark.session(app_name, master=master, **(SHORT if short else {}))
    except BaseException as error:
        if starting is not None:
            starting.end()
        if isinstance(error, ImportError):
            raise MissingExtra(f'{app_name} needs Spark: pip install "slipring[spark]" ({error})') from error
        raise


@contextmanager
def _ctrl_c_stays_ours() -> Iterator[None]:
    """Keep PySpark from handling SIGINT, which it would by a call to the JVM, perhaps in the middle of another."""
    import pyspark.core.context

    context: Any = pyspark.core.context
    handlers = context.signal
    context.signal = SimpleNamespace(SIGINT=handlers.SIGINT, signal=lambda *_: None)
    try:
        yield
    finally:
        context.signal = handlers
