# SPDX-License-Identifier: Apache-2.0
"""Kill and pause processes at random instants. The seed chooses victim, kind and length, but not the machine's timing.

RandomKills   one strike after the other; the survivors must make progress after each (crash tests)
Schedule      strikes now and then beside other work, from one loop that calls step() (soak, demo)
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from storm.board import Board
from storm.fork_server import Process
from storm.supervisor import Role, Supervisor

LONGEST_WAIT_S = 0.03
_DIES_PAUSED, _IS_PAUSED = 0.1, 0.1
_METRONOME_ROW = 60


class RandomKills:
    """`gaps`: longest gaps of survivors between strikes, as (ms, survivor, killed process)."""

    def __init__(self, supervisor: Supervisor, seed: int) -> None:
        self._supervisor, self._random = supervisor, random.Random(seed)
        self.gaps: list[tuple[float, str, str]] = []
        self.metronome_ms: list[float] = []

    def kill_for(self, seconds: float, kills: int = 0) -> None:
        """Strike for so many seconds or, if given, for so many kills."""
        board, roles = self._supervisor.board, self._supervisor.roles
        metronome = self._start_metronome(board)
        end = time.monotonic() + seconds
        while self._supervisor.kills < kills if kills else time.monotonic() < end:
            time.sleep(
                self._random.random() * LONGEST_WAIT_S
            )  # chooses a random instant; synchronises nothing
            mortal = [role for role in roles if role.mortal]
            self.strike(self._random.sample(mortal, min(len(mortal), self._random.choice((1, 1, 1, 2, 3)))))
            if self._random.random() < _IS_PAUSED:
                self.pause(self._random.sample(roles, self._random.randrange(1, len(roles))))
        metronome.kill()

    def pause_for(self, seconds: float, kills: int = 0) -> None:
        """Pauses at random instants instead of kills."""
        end, roles = time.monotonic() + seconds, self._supervisor.roles
        while time.monotonic() < end:
            self.pause(self._random.sample(roles, self._random.randrange(1, len(roles))))
            self.expect_progress(roles)

    def _start_metronome(self, board: Board) -> Process:
        path = str(self._supervisor.work / "board")
        metronome = self._supervisor.server.start(
            "storm.roles:metronome", board_path=path, row=_METRONOME_ROW
        )
        self._supervisor.until(lambda: board.beats(_METRONOME_ROW) > 0, "the metronome begins")
        return metronome

    def strike(self, victims: list[Role]) -> None:
        supervisor = self._supervisor
        supervisor.board.count_strike()
        supervisor.look_after()
        for role in victims:
            if self._random.random() < _DIES_PAUSED and role.process:
                role.process.stop()  # dies while paused, perhaps after others
        for role in victims:
            supervisor.kill(role)
        if self._can_go_on_without(victims):
            self.expect_progress()  # before the next attach: the survivors recover by themselves
        for role in victims:
            supervisor.start(role)
        self.expect_progress()
        self.metronome_ms.append(supervisor.board.gap_ns(_METRONOME_ROW) / 1e6)
        dead = ", ".join(role.kind for role in victims)
        self.gaps += [(supervisor.gap_ms(role), role.kind, dead) for role in supervisor.survivors]

    def _can_go_on_without(self, victims: list[Role]) -> bool:
        """Ensure that survivors of each topic have a live publisher and no cursor without owner blocks them."""
        left = [role for role in self._supervisor.roles if role not in victims]
        feeds = {role.topic for role in left if role.publishes}
        needed = {role.topic for role in self._supervisor.survivors}
        return (
            needed <= feeds and not any(role.keeps_position for role in victims) and self._has_clients(left)
        )

    def _has_clients(self, left: list[Role]) -> bool:
        """A server makes progress only when it is called."""
        served = {role.topic for role in self._supervisor.survivors if role.function == "server"}
        return served <= {role.topic for role in left if role.function == "client"}

    def pause(self, roles: list[Role]) -> None:
        for role in roles:
            self._supervisor.pause(role)
        time.sleep(self._random.random() * LONGEST_WAIT_S)
        for role in roles:
            self._supervisor.resume(role)
        self.expect_progress()

    def expect_progress(self, of: list[Role] | None = None) -> None:
        survivors = self._supervisor.survivors if of is None else of
        before = [self._supervisor.beats(role) for role in survivors]
        for role, beats in zip(survivors, before, strict=True):
            self._supervisor.until(
                lambda role=role, beats=beats: self._supervisor.beats(role) > beats, f"{role.name} goes on"
            )


@dataclass(frozen=True)
class Plan:
    every_s: tuple[float, float]  # between strikes
    pause_share: float  # of the strikes; the others are kills
    pause_s: tuple[float, float]
    dies_paused_share: float  # of the pauses that end in a kill
    vacant_s: tuple[float, float] = (0.0, 0.0)  # from a death to the restart


@dataclass(frozen=True)
class Strike:
    name: str
    life: int
    kind: str  # "kill" or "pause"
    at_ns: int
    until_ns: int  # of a pause: when it was resumed or killed


class Schedule:
    """A list of (instant, action), so that one loop can strike, restart and resume.

    `before` is called with the victim and "kill" or "pause" right before a strike, `after` with the strike."""

    def __init__(
        self,
        supervisor: Supervisor,
        seed: int,
        plan: Plan,
        before: Callable[[Role, str], None] = lambda role, kind: None,
        after: Callable[[Strike], None] = lambda strike: None,
    ) -> None:
        self._supervisor, self._random, self._plan = supervisor, random.Random(seed), plan
        self._before, self._after = before, after
        self._due: list[tuple[float, Callable[[], None]]] = []
        self._next_strike = time.monotonic()
        self.deaths = 0  # without a kill

    def step(self) -> None:
        """Run the actions that are due. Return at once."""
        for role in self._supervisor.collect_dead():
            self.deaths += 1
            self._restart_later(role)
        self._do_due(time.monotonic())
        if time.monotonic() >= self._next_strike:
            self._next_strike = time.monotonic() + self._random.uniform(*self._plan.every_s)
            self._strike()

    def finish(self) -> None:
        """End the strikes. Resume or restart all processes."""
        for role in self._supervisor.collect_dead():
            self.deaths += 1
            self._restart_later(role)
        while self._due:
            self._do_due(float("inf"))

    def _later(self, delay_s: float, action: Callable[[], None]) -> None:
        self._due.append((time.monotonic() + delay_s, action))

    def _do_due(self, now: float) -> None:
        due = [action for at, action in self._due if at <= now]
        self._due = [(at, action) for at, action in self._due if at > now]
        for action in due:
            action()

    def _strike(self) -> None:
        role = self._random.choice([role for role in self._supervisor.roles if role.mortal])
        kind, pause_s = self._random.random(), self._random.uniform(*self._plan.pause_s)
        dies_paused = self._random.random() < self._plan.dies_paused_share
        if not role.alive or role.paused:
            return
        self._before(role, "pause" if kind < self._plan.pause_share else "kill")
        self._supervisor.board.count_strike()
        if kind >= self._plan.pause_share:
            self._kill(role)
        else:
            self._supervisor.pause(role)
            life, at_ns = role.life, time.monotonic_ns()
            self._later(pause_s, lambda: self._end_pause(role, life, at_ns, dies_paused))

    def _kill(self, role: Role) -> None:
        at_ns = self._supervisor.kill(role)
        self._after(Strike(role.name, role.life, "kill", at_ns, at_ns))
        self._restart_later(role)

    def _end_pause(self, role: Role, life: int, at_ns: int, dies: bool) -> None:
        if not role.alive or role.life != life:
            return
        self._after(Strike(role.name, life, "pause", at_ns, time.monotonic_ns()))
        if dies:
            self._kill(role)
        else:
            self._supervisor.resume(role)

    def _restart_later(self, role: Role) -> None:
        low, high = self._plan.vacant_s
        if high == 0.0:
            self._supervisor.start(role)
        else:
            self._later(self._random.uniform(low, high), lambda: self._supervisor.start(role))
