# SPDX-License-Identifier: Apache-2.0
"""Strikes a random process every 0.3 s or so: mostly SIGKILL, sometimes SIGSTOP and SIGCONT, sometimes both.

What is due is kept as a list of (instant, deed), so that one loop can strike, restart, resume and draw the
live view. A killed seat is taken again at once or a moment later. The seed decides who, what and how long;
the instants themselves are the machine's.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from demo.cast import SEATS
from demo.fleet import Fleet, Life

EVERY_S = (0.2, 0.4)
_PAUSE_SHARE = 0.2
_PAUSE_S = (0.05, 0.5)
_DIES_PAUSED_SHARE = 0.3
_VACANT_S = (0.0, 0.05)


@dataclass(frozen=True)
class Strike:
    seat: str
    incarnation: int
    kind: str  # "kill" or "pause"
    at_ns: int
    until_ns: int  # of a pause: when it was resumed or killed


class Chaos:
    def __init__(self, fleet: Fleet, seed: int, every_s: tuple[float, float] = EVERY_S) -> None:
        self._fleet, self._random, self._every_s = fleet, random.Random(seed), every_s
        self._due: list[tuple[float, Callable[[], None]]] = []
        self._next_strike = time.monotonic()
        self.strikes: list[Strike] = []

    @property
    def kills(self) -> int:
        return sum(strike.kind == "kill" for strike in self.strikes)

    @property
    def pauses(self) -> int:
        return len(self.strikes) - self.kills

    def step(self) -> None:
        """Does what is due; returns at once."""
        for life in self._fleet.reap():
            self._restart_later(life)
        self._do_due(time.monotonic())
        if time.monotonic() >= self._next_strike:
            self._next_strike = time.monotonic() + self._random.uniform(*self._every_s)
            self._strike()

    def finish(self) -> None:
        """No more strikes: everybody is resumed or restarted."""
        for life in self._fleet.reap():
            self._restart(life)
        while self._due:
            self._do_due(float("inf"))

    def _later(self, delay_s: float, deed: Callable[[], None]) -> None:
        self._due.append((time.monotonic() + delay_s, deed))

    def _do_due(self, now: float) -> None:
        due = [deed for at, deed in self._due if at <= now]
        self._due = [(at, deed) for at, deed in self._due if at > now]
        for deed in due:
            deed()

    def _strike(self) -> None:
        choice = self._random.choice([seat.name for seat in SEATS.values() if seat.mortal])
        kind, pause_s = self._random.random(), self._random.uniform(*_PAUSE_S)
        dies_paused = self._random.random() < _DIES_PAUSED_SHARE
        life = self._fleet.now_playing[choice]
        if not life.running or life.stopped:
            return
        if kind >= _PAUSE_SHARE:
            self._kill(life)
        else:
            self._fleet.stop(life)
            at_ns = time.monotonic_ns()
            self._later(pause_s, lambda: self._end_pause(life, at_ns, dies_paused))

    def _kill(self, life: Life) -> None:
        at_ns = self._fleet.kill(life)
        self.strikes.append(Strike(life.seat.name, life.incarnation, "kill", at_ns, at_ns))
        self._restart_later(life)

    def _end_pause(self, life: Life, at_ns: int, dies: bool) -> None:
        self.strikes.append(Strike(life.seat.name, life.incarnation, "pause", at_ns, time.monotonic_ns()))
        if dies:
            self._kill(life)
        else:
            self._fleet.resume(life)

    def _restart_later(self, life: Life) -> None:
        self._later(self._random.uniform(*_VACANT_S), lambda: self._restart(life))

    def _restart(self, life: Life) -> None:
        self._fleet.start(life.seat)
