# SPDX-License-Identifier: Apache-2.0
"""A storm: processes are killed at random, and none may end by itself. Its length, seed, start and end."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import slipring
from storm import journal
from storm.journal import Kind
from storm.strikes import RandomKills
from storm.supervisor import Role, Supervisor

SEED = int(os.environ.get("SLIPRING_STORM_SEED", "0")) or random.randrange(1, 1 << 32)
KILLS = int(os.environ.get("SLIPRING_STORM_KILLS") or "0")
SECONDS = float(os.environ.get("SLIPRING_STORM_SECONDS") or "40")
SCENARIOS = 8  # that share the time and the kills
EPOCH_S, EPOCH_KILLS = 20.0, 400  # a longer storm consists of several, which keeps the journals small
PRELOAD = ["storm.roles", "crash.storms.structures", "storm.native", "pyarrow"]


class Storm(Supervisor):
    def __init__(self, root: Path, work: Path, roles: list[Role]) -> None:
        topics = sorted({role.topic for role in roles})
        super().__init__(root, work, "test", topics, roles, PRELOAD)
        self.random_kills = RandomKills(self, SEED)

    def look_after(self) -> None:
        for role in self.roles:
            assert role.process is None or role.process.alive, (
                f"{role.name} ({role.process.pid}) ended by itself: {role.process.join()}, seed {SEED}\n"
                f"{self.server.errors()}"
            )

    def state(self) -> object:
        with slipring.Bus("test", root=str(self.root)) as bus:
            return SEED, [bus.stats(topic) for topic in self.topics if topic in bus.topics()]

    def start_all(self) -> None:
        """Start the readers first, one by one, so that those that are not killed read the topic from its start."""
        for role in sorted(self.roles, key=lambda role: role.publishes):
            self.start(role)
            if not role.mortal and role.function == "reader":
                self.until(lambda role=role: journal.count(role.journal, Kind.STARTED), f"{role.name} starts")

    def end(self, *functions: str) -> None:
        """Wait until all processes with one of these functions have ended."""
        for role in self.roles:
            if role.function in functions:
                code = self.join(role)
                assert code == 0, f"{role.name} ended with {code}\n{self.server.errors()}"

    def finish(self) -> dict:
        """End all processes in order. Return the counters of the topic after the last publisher and the sweep."""
        (topic,) = self.topics
        self.board.order_stop()
        self.end("publisher")
        for role in self.roles:
            if role.function == "member":
                self.until(lambda role=role: journal.count(role.journal, Kind.QUIET), f"{role.name} is quiet")
        with slipring.Bus("test", root=str(self.root)) as bus:
            self.send_last(bus, topic)
            bus.subscriber(topic).close()
            stats = bus.stats(topic)
            self.end("reader", "member")
            assert [r for r in stats["readers"] if not r["alive"]] == []
            assert [p for p in stats["publishers"] if not p["alive"]] == []
            assert bus.doctor() == []
            return bus.stats(topic)


def epochs() -> Iterator[tuple[int, float, int]]:
    """Yield number, seconds and kills of each storm of a scenario."""
    if KILLS:
        count = -(-KILLS // (SCENARIOS * EPOCH_KILLS))
        yield from ((epoch, 0.0, -(-KILLS // (SCENARIOS * count))) for epoch in range(count))
    else:
        count = max(1, round(SECONDS / SCENARIOS / EPOCH_S))
        yield from ((epoch, SECONDS / SCENARIOS / count, 0) for epoch in range(count))
