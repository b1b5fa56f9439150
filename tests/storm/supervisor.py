# SPDX-License-Identifier: Apache-2.0
"""Start, kill, pause and end the processes of a storm, and keep the evidence for the audit on disk.

One process after the other has a role; each process is a life with a number. The work directory has `board`,
`journals/<role>.<life>` and `lives.jsonl` with a line for each ended process, which storm.audit.lives reads. Memory
holds nothing about ended processes, because it must not grow in a soak. `close` leaves no process.
"""

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import slipring
from storm import bodies
from storm.board import Board
from storm.fork_server import WATCHDOG_S, ForkServer, Process, backtrace
from storm.journal import Journal, Kind

_POLL_S = 0.002


class Stuck(AssertionError):
    """An event that takes milliseconds did not happen."""


@dataclass
class Role:
    name: str
    target: str  # module:function; in C the function's name
    topic: str
    config: dict[str, Any] = field(default_factory=dict)
    mortal: bool = True  # if not, it is never killed and must make progress after every strike
    in_c: bool = False
    leak: str = ""
    row: int = -1  # on the board
    process: Process | None = None
    life: int = 0
    lives: int = 0  # so far
    journal: Path = Path()
    started_ns: int = 0
    paused: bool = False

    @property
    def function(self) -> str:
        return self.target.split(":")[1]

    @property
    def publishes(self) -> bool:
        return self.function in ("publisher", "member", "cells_writer", "frame_writer", "server")

    @property
    def keeps_position(self) -> bool:
        """Whether publishers wait for the role even while it is dead: the owner of a cursor on a reliable topic."""
        return "cursor" in self.config.get("settings", {})

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.alive

    @property
    def kind(self) -> str:
        how = self.config.get("take") or "/".join(sorted(set(self.config.get("ways", []))))
        how += " by a cursor" if self.keeps_position else ""
        return f"{self.function}{f' ({how})' if how else ''} in {'C' if self.in_c else 'Python'}"


class Supervisor:
    def __init__(
        self,
        root: Path,
        work: Path,
        bus: str,
        topics: list[str],
        roles: list[Role],
        preload: list[str],
        environment: dict[str, str] | None = None,
    ) -> None:
        self.root, self.work, self.bus_name, self.topics, self.roles = root, work, bus, topics, roles
        for row, role in enumerate(roles):
            role.row = row
        work.mkdir(parents=True, exist_ok=True)
        (work / "journals").mkdir()
        self.board = Board(work / "board")
        self._lives: IO[str] = (work / "lives.jsonl").open("a")
        self._life = 0
        self.killed: Counter[str] = Counter()  # by kind of role
        self.paused: Counter[str] = Counter()
        self.server = ForkServer(preload, environment, label=str(work))

    @property
    def kills(self) -> int:
        return self.killed.total()

    @property
    def pauses(self) -> int:
        return self.paused.total()

    @property
    def survivors(self) -> list[Role]:
        return [role for role in self.roles if not role.mortal]

    # Processes

    def start(self, role: Role) -> None:
        self._life += 1
        role.life, role.journal = self._life, self.work / "journals" / f"{role.name}.{self._life}"
        role.lives += 1
        worker = {
            "root": str(self.root),
            "bus_name": self.bus_name,
            "topics": self.topics,
            "topic_number": self.topics.index(role.topic),
            "name": role.name,
            "life": role.life,
            "row": role.row,
            "board_path": str(self.work / "board"),
            "journal_path": str(role.journal),
            "leak": role.leak,
        }
        role.started_ns = time.monotonic_ns()
        if role.in_c:
            config = {"role": role.function, "config": role.config}
            role.process = self.server.start("storm.native:run", worker=worker, **config)
        else:
            role.process = self.server.start(role.target, worker=worker, **role.config)

    def kill(self, role: Role) -> int:
        """Kill and reap. Return the instant. A process that had ended by itself does not count as killed."""
        assert role.process is not None
        alive, at_ns = role.process.alive, time.monotonic_ns()
        code = role.process.kill()
        self.killed[role.kind] += alive
        self._ended(role, code, alive, at_ns)
        return at_ns

    def join(self, role: Role) -> int:
        assert role.process is not None
        code = role.process.join()
        self._ended(role, code, False, time.monotonic_ns())
        return code

    def pause(self, role: Role) -> None:
        assert role.process is not None
        role.process.stop()
        role.paused = True
        self.paused[role.kind] += 1

    def resume(self, role: Role) -> None:
        assert role.process is not None
        role.process.resume()
        role.paused = False

    def collect_dead(self) -> list[Role]:
        """Reap and record processes that ended without a kill. Return their roles."""
        dead = [role for role in self.roles if role.process is not None and not role.process.alive]
        for role in dead:
            self.join(role)
        return dead

    def _ended(self, role: Role, code: int, killed: bool, ended_ns: int) -> None:
        error = self.server.error_of(role.process.pid) if code and not killed and role.process else ""
        role.process, role.paused = None, False
        self.note_life(role.name, role.life, role.journal, code, killed, role.started_ns, ended_ns, error)

    def note_life(
        self,
        name: str,
        life: int,
        journal: Path,
        code: int = 0,
        killed: bool = False,
        started_ns: int = 0,
        ended_ns: int = 0,
        error: str = "",
    ) -> None:
        line = {"name": name, "life": life, "journal": journal.name, "code": code, "killed": killed}
        line |= {"started_ns": started_ns, "ended_ns": ended_ns, "error": error}
        self._lives.write(json.dumps(line) + "\n")
        self._lives.flush()

    # Orders

    def send_last(self, bus: slipring.Bus, topic: str) -> None:
        """Send a last message, by which every reader detects the end of the topic. Then order the end."""
        self._life += 1
        who, journal = bodies.identity(self._life, 1), self.work / "journals" / f"last.{self._life}"
        with bus.publisher(topic, sender=f"i{self._life}") as pub:
            seq = pub.send(bodies.make(who, 100), type=bodies.TYPES[1], timeout=WATCHDOG_S)
        written = Journal(journal)
        written.write(Kind.SENT, self.topics.index(topic), seq, who, 1)
        written.close()
        self.note_life("last", self._life, journal)
        self.board.order_end(bus.stats(topic)["tail"], self.topics.index(topic))

    # Watching

    def gap_ms(self, role: Role) -> float:
        """Return the longest gap of the role since the last strike."""
        return self.board.gap_ns(role.row) / 1e6

    def beats(self, role: Role) -> int:
        return self.board.beats(role.row)

    def until(self, condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + WATCHDOG_S
        while not condition():
            self.look_after()
            if time.monotonic() > deadline:
                raise Stuck(f"{what}: not within {WATCHDOG_S:.0f} s\n{self.state()}\n{self._stacks()}")
            time.sleep(_POLL_S)

    def look_after(self) -> None:
        """Check the processes. Called during each wait."""

    def state(self) -> object:
        """Return what the report of a hang shows besides the stacks."""
        return ""

    def _stacks(self) -> str:
        return "\n".join(
            f"== {r.name}\n{backtrace(r.process.pid)}" for r in self.roles if r.process and r.alive
        )

    def close(self) -> None:
        """End all processes. May be called again."""
        if not self._lives.closed:
            self.server.close()
            self.board.close()
            self._lives.close()
