# SPDX-License-Identifier: Apache-2.0
"""Processes that are killed and paused at random instants while the others have to go on.

A part that is not `mortal` lives through everything: it must make progress after every strike. Progress is judged by
the board's heartbeats; the watchdog only decides that there will be none. Every survivor's longest gap from one
strike to the next is kept.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from crash import native
from crash.board import Board
from crash.fleet import Child, Fleet, backtrace
from support.waiting import WATCHDOG_S

SEED = int(os.environ.get("SLIPRING_STORM_SEED", "0")) or random.randrange(1, 1 << 32)
KILLS = int(os.environ.get("SLIPRING_STORM_KILLS") or "0")
SECONDS = float(os.environ.get("SLIPRING_STORM_SECONDS") or "40")
SCENARIOS = 8  # that share them
EPOCH_S, EPOCH_KILLS = 20.0, 400  # a longer storm is made of several, so that the journals stay small
LONGEST_LIFE_S = 0.03
_DIES_PAUSED, _IS_PAUSED = 0.1, 0.1
_METRONOME = 60  # its seat


@dataclass
class Part:
    """One seat, played by one incarnation after another."""

    name: str
    target: str  # function of the module of actors
    config: dict
    mortal: bool = True
    in_c: bool = False
    topic: str = ""  # "": that of the storm
    lives: list[tuple[int, Child, Path]] = field(default_factory=list)  # incarnation, process, journal

    @property
    def publishes(self) -> bool:
        return self.target in ("publisher", "member", "cells_writer", "frame_writer", "server")

    @property
    def keeps_its_place(self) -> bool:
        """Dead or alive: a cursor on a reliable topic holds the publishers back until it is read on."""
        return "cursor" in self.config.get("settings", {})

    @property
    def child(self) -> Child:
        return self.lives[-1][1]

    @property
    def kind(self) -> str:
        how = self.config.get("take") or "/".join(sorted(set(self.config.get("ways", []))))
        how += " by a cursor" if self.keeps_its_place else ""
        return f"{self.target}{f' ({how})' if how else ''} in {'C' if self.in_c else 'Python'}"


class Company:
    actors = "crash.actors"

    def __init__(self, fleet: Fleet, root: Path, work: Path, topic: str, parts: list[Part]) -> None:
        self.fleet, self.root, self.work, self.topic, self.parts = fleet, root, work, topic, parts
        self.random = random.Random(SEED)
        self.board = Board(work / "board")
        self.killed: Counter[str] = Counter()
        self.paused: Counter[str] = Counter()
        self.gaps: list[tuple[float, str, str]] = []  # ms, whose, after whose death
        self.metronome_ms: list[float] = []
        self._incarnation = 0

    @property
    def kills(self) -> int:
        return self.killed.total()

    def next_incarnation(self) -> int:
        self._incarnation += 1
        return self._incarnation

    def start(self, part: Part) -> None:
        incarnation = self.next_incarnation()
        journal = self.work / f"{part.name}.{incarnation}"
        life = {
            "root": str(self.root),
            "topic": part.topic or self.topic,
            "name": part.name,
            "incarnation": incarnation,
            "seat": self.parts.index(part),
            "board_path": str(self.work / "board"),
            "journal_path": str(journal),
        }
        if part.in_c:
            child = self.fleet.start("crash.native:play", role=part.target, config=part.config, **life)
        else:
            child = self.fleet.start(f"{self.actors}:{part.target}", **life, **part.config)
        part.lives.append((incarnation, child, journal))

    def kill_for(self, seconds: float, kills: int = 0) -> None:
        """For so long or, if given, so many."""
        metronome = self.fleet.start(
            "crash.actors:metronome", board_path=str(self.work / "board"), seat=_METRONOME
        )
        self.until(lambda: self.board.beats(_METRONOME) > 0, "metronome")
        end = time.monotonic() + seconds
        while self.kills < kills if kills else time.monotonic() < end:
            time.sleep(self.random.random() * LONGEST_LIFE_S)  # the random instant, not a synchronisation
            mortal = [part for part in self.parts if part.mortal]
            victims = self.random.sample(mortal, min(len(mortal), self.random.choice((1, 1, 1, 2, 3))))
            self.strike(victims)
            if self.random.random() < _IS_PAUSED:
                self.pause(self.random.sample(self.parts, self.random.randrange(1, len(self.parts))))
        metronome.kill()

    def strike(self, victims: list[Part]) -> None:
        self.board.count_strike()
        for part in victims:
            if self.random.random() < _DIES_PAUSED:
                part.child.stop()  # dies while paused, perhaps after others
        for part in victims:
            self.unexpected(part)
            part.child.kill()
            self.killed[part.kind] += 1
        if self.can_go_on_without(victims):
            self.expect_progress()  # before anybody attaches: the survivors clear up themselves
        for part in victims:
            self.start(part)
        self.expect_progress()
        self.metronome_ms.append(self.board.gap_ns(_METRONOME) / 1e6)
        dead = ", ".join(part.kind for part in victims)
        for seat, part in enumerate(self.parts):
            if not part.mortal:
                self.gaps.append((self.board.gap_ns(seat) / 1e6, part.kind, dead))

    def can_go_on_without(self, victims: list[Part]) -> bool:
        left = [part for part in self.parts if part not in victims]
        return any(part.publishes for part in left) and not any(part.keeps_its_place for part in victims)

    def pause(self, parts: list[Part]) -> None:
        for part in parts:
            part.child.stop()
            self.paused[part.kind] += 1
        time.sleep(self.random.random() * LONGEST_LIFE_S)
        for part in parts:
            part.child.resume()
        self.expect_progress()

    def pause_for(self, seconds: float, kills: int = 0) -> None:
        """Stops and continues parts at random instants instead of killing them."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pause(self.random.sample(self.parts, self.random.randrange(1, len(self.parts))))
            self.expect_progress(self.parts)

    def expect_progress(self, of: list[Part] | None = None) -> None:
        survivors = [part for part in self.parts if not part.mortal] if of is None else of
        before = [self.board.beats(self.parts.index(part)) for part in survivors]
        for part, beats in zip(survivors, before, strict=True):
            self.until(
                lambda part=part, beats=beats: self.board.beats(self.parts.index(part)) > beats, part.name
            )

    def join(self, part: Part) -> None:
        code = part.child.join()
        assert code == 0, f"{part.name} ended with {code}\n{self.fleet.errors()}"

    def unexpected(self, part: Part) -> None:
        assert part.child.alive, (
            f"{part.name} ({part.child.pid}) ended by itself: {part.child.join()}\n{self.fleet.errors()}"
        )

    def until(self, condition, who: str) -> None:
        deadline = time.monotonic() + WATCHDOG_S
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"{who} stands still (seed {SEED})\n{self.state()}\n{self._all_stacks()}"
                )
            for part in self.parts:
                if part.lives and part.child.code is None and not part.child.alive:
                    self.unexpected(part)
            time.sleep(0.001)

    def state(self) -> object:
        return ""

    def _all_stacks(self) -> str:
        alive = [part for part in self.parts if part.lives and part.child.alive]
        return "\n".join(f"== {part.name}\n{backtrace(part.child.pid)}" for part in alive)

    def close(self) -> None:
        self.board.close()


def epochs() -> Iterator[tuple[int, float, int]]:
    """Number, seconds and kills of each storm of a scenario: its share, in pieces."""
    if KILLS:
        count = -(-KILLS // (SCENARIOS * EPOCH_KILLS))
        yield from ((epoch, 0.0, -(-KILLS // (SCENARIOS * count))) for epoch in range(count))
    else:
        count = max(1, round(SECONDS / SCENARIOS / EPOCH_S))
        yield from ((epoch, SECONDS / SCENARIOS / count, 0) for epoch in range(count))


PRELOAD = ["crash.actors", "crash.structures", native.__name__, "pyarrow"]
