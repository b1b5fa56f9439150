# SPDX-License-Identifier: Apache-2.0
"""Supervision of the robot's processes, their shutdown in order, and the final state of the bus.

Senders stop first, so that every topic has a last message. Then readers read up to it. Only then the counters in shared
memory are final. Table entries of killed processes are cleared by the doctor, and by a new subscriber of each topic.
"""

import os
import time
from pathlib import Path
from typing import Any

import slipring
from demo import interruption, robot
from storm import journal
from storm.journal import Kind
from storm.supervisor import Role, Supervisor

ENDS_WITHIN_S = 60.0  # a watchdog


class Robot(Supervisor):
    def __init__(self, root: Path) -> None:
        roles = [component.supervised() for component in robot.COMPONENTS.values()]
        topics = list(robot.TOPIC_NAMES)
        super().__init__(root / "bus", root / "work", robot.BUS, topics, roles, robot.PRELOAD)

    def look_after(self) -> None:
        interruption.check()

    def start_all(self) -> None:
        """Start the recorder first: it reads every topic from the beginning."""
        for role in self.roles:
            self.start(role)
            if not role.mortal:
                self.until(lambda role=role: _has_started(role), f"{role.name} starts")
        self.until(lambda: all(map(_has_started, self.roles)), "all processes start")

    def wind_down(self, bus: slipring.Bus) -> None:
        self.until(lambda: all(map(_has_started, self.roles)), "the last processes start")
        self.board.order_stop()
        senders = [role for role in self.roles if robot.COMPONENTS[role.name].only_publishes]
        members = [role for role in self.roles if robot.COMPONENTS[role.name].role == "member"]
        self.until(lambda: self._gone(senders), "publishers end")
        self.until(lambda: all(map(_has_stopped_sending, members)), "members stop sending")
        for number, topic in enumerate(self.topics):
            self.board.order_end(bus.stats(topic)["tail"], number)
        self.until(lambda: self._gone(self.roles), "readers read to the end")

    def _gone(self, roles: list[Role]) -> bool:
        self.collect_dead()
        return not any(role.process for role in roles)


def _has_started(role: Role) -> bool:
    """Whether the process has attached to its topics."""
    component = robot.COMPONENTS[role.name]
    if not role.alive:
        return True
    if component.only_publishes:
        return journal.count(role.journal, Kind.SENT, 64) > 0
    return journal.count(role.journal, Kind.STARTED, 64) == len(component.topics)


def _has_stopped_sending(role: Role) -> bool:
    return not role.alive or journal.count(role.journal, Kind.QUIET) > 0


def examine(
    bus: slipring.Bus,
) -> tuple[dict[str, dict[str, Any]], list[dict[str, str]], list[dict[str, str]]]:
    """Return the stats of each topic, what the doctor cleared, and what it finds afterwards."""
    cleared = bus.doctor(repair=True)
    for topic in robot.TOPIC_NAMES:
        bus.subscriber(topic, lossy=True).close()
    return {topic: bus.stats(topic) for topic in robot.TOPIC_NAMES}, cleared, bus.doctor()


def files_beside_topics(bus: slipring.Bus) -> list[str]:
    known = {f"{topic}.{end}" for topic in bus.topics() for end in ("ring", "readers")}
    return sorted(set(os.listdir(bus.path)) - known)


def processes_left(root: Path) -> list[str]:
    """Return processes of this run that do not end. Spark's JVM and its workers end a moment after the job."""
    deadline = time.monotonic() + ENDS_WITHIN_S
    while (found := _processes_of(root)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _processes_of(root: Path) -> list[str]:
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_bytes()
        except OSError:
            continue
        if str(root).encode() in words:
            found.append(f"process {directory.name}")
    return found
