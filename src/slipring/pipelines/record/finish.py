# SPDX-License-Identifier: Apache-2.0
"""How a recording ends: losses with removed topics are recorded, its cursors dropped, its summary returned."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass, field

import slipring
from slipring._bus.logs import log
from slipring.errors import Busy, SlipringError, TopicGone, TopicNotFound

from ..lake import Lake, OtherHostsRecording, delta
from ..lake.locks import lock
from ..lake.model import Json, Session
from ..lake.stage import Stage
from . import hosts, topic_extents
from .begin import cursor_name, unfinished

READER_ENDS_S = 20.0  # the source process of Spark may still be ending
POLL_S = 0.05


@dataclass
class Summary:
    """What a recording recorded, over all its runs."""

    lake: str
    session: str
    ended: bool  # False: the next recording into the lake resumes it
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
        from slipring.pipelines.notebook_html import of_summary

        return of_summary(self)


def summary(lake: Lake, session: str, elapsed_s: float, warning: SlipringError | None) -> Summary:
    """Return the summary of a session, from the log."""
    recorded = lake.refresh().sessions[session]
    found = Summary(str(lake.path), session, recorded.finished, bytes=recorded.bytes, elapsed_s=elapsed_s)
    for topic, runs in sorted(recorded.coverage.items()):
        counts = {name: sum(getattr(run, name) for run in runs) for name in ("messages", "lost", "abandoned")}
        found.topics[topic] = counts
        found.messages += counts["messages"]
        found.lost += counts["lost"]
        found.abandoned += counts["abandoned"]
    found.warning = f"not compacted: {warning}" if warning else ""
    return found


def end(lake: Lake, session: Session) -> None:
    """End the session: record what was lost with removed topics, then drop its cursors."""
    name = cursor_name(lake, session.id)
    with slipring.Bus(session.about["bus"], root=session.about["root"]) as bus:
        _record_lost(lake, session, bus)
        for topic in bus.topics():
            _drop(bus, topic, name)
    lake.end(session.id)
    log("record", "info", "session %s in %s has ended", session.id, lake.path)
    topic_extents.path_of(lake, session.id).unlink(missing_ok=True)


def _record_lost(lake: Lake, session: Session, bus: slipring.Bus) -> None:
    lost = topic_extents.lost(lake, session, bus)
    if not lost:
        return
    from ..lake import row_files  # pyarrow is loaded only here

    for one in lost:
        log(
            "record", "warning", "session %s: topic '%s' was removed with %d messages not yet recorded",
            session.id, one.topic, one.end - one.first,
        )  # fmt: skip
    stage = Stage(lake, "record")
    try:
        lake.add_holes(session.id, row_files.write_holes(stage.path, lost))
    finally:
        stage.remove()
    delta.mirror(lake)


def release(path: str | os.PathLike[str]) -> list[str]:
    """End the unfinished recordings of this host without recording more, and return their sessions.

    Raises OtherHostsRecording if all of them are of other hosts, whose topics cannot be seen from here."""
    lake = Lake.open(path)
    with lock(lake, "record"):
        found = unfinished(lake)
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
