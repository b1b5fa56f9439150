# SPDX-License-Identifier: Apache-2.0
"""The end in good order, and the bus as it is left.

Senders stop first, so that every topic has a last message; then readers read up to it. Only then are the
counters in shared memory final, and the dead's table entries are cleared: by the doctor, and by attaching
once more to every topic.
"""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import slipring
from demo import cast, interruption, journal
from demo.fleet import Fleet, Life
from demo.journal import Kind

PATIENCE_S = 30.0  # decides only that there will be no end


class Stuck(Exception):
    """A process did not do in PATIENCE_S what takes milliseconds."""


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        interruption.check()
        if time.monotonic() > deadline:
            raise Stuck(f"{what}: not within {PATIENCE_S:.0f} s")
        time.sleep(0.005)


def has_begun(life: Life) -> bool:
    """It heeds orders and has attached to its topics."""
    if not life.running:
        return True
    if life.seat.only_publishes:
        return any(record.kind == Kind.SENT for record in journal.read(life.journal, 64))
    starts = sum(record.kind == Kind.START for record in journal.read(life.journal, 64))
    return starts == len(life.seat.topics)


def is_quiet(life: Life) -> bool:
    return not life.running or any(record.kind == Kind.QUIET for record in journal.read(life.journal))


def _gone(fleet: Fleet, lives: list[Life]) -> bool:
    fleet.reap()
    return not any(life.running for life in lives)


def wind_down(fleet: Fleet) -> None:
    lives = [life for life in fleet.now_playing.values() if life.running]
    until(lambda: all(map(has_begun, lives)), "the last incarnations begin")
    senders = [life for life in lives if life.seat.only_publishes]
    members = [life for life in lives if life.seat.role == "member"]
    for life in (*senders, *members):
        fleet.order(life, signal.SIGUSR1)
    until(lambda: _gone(fleet, senders), "publishers end")
    until(lambda: all(map(is_quiet, members)), "members are quiet")
    readers = [life for life in lives if life not in senders]
    for life in readers:
        fleet.order(life, signal.SIGTERM)
    until(lambda: _gone(fleet, readers), "readers read to the end")


def examine(
    bus: slipring.Bus,
) -> tuple[dict[str, dict[str, Any]], list[dict[str, str]], list[dict[str, str]]]:
    """(stats of each topic, what the doctor cleared, what he finds afterwards)"""
    cleared = bus.doctor(repair=True)
    for topic in cast.TOPIC_NAMES:
        bus.subscriber(topic, lossy=True).close()
    return {topic: bus.stats(topic) for topic in cast.TOPIC_NAMES}, cleared, bus.doctor()


def files_beside_topics(bus: slipring.Bus) -> list[str]:
    known = {f"{topic}.{end}" for topic in bus.topics() for end in ("ring", "readers")}
    return sorted(set(os.listdir(bus.path)) - known)


def processes_of(root: Path) -> list[str]:
    """Processes that were started for this show and still exist."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_bytes()
        except OSError:
            continue
        if str(root).encode() in words:
            found.append(f"process {directory.name}")
    return found
