# SPDX-License-Identifier: Apache-2.0
"""Starts the actors of one topic, kills them at random instants, and watches the others go on.

A part that is not `mortal` lives through the whole storm: it must make progress after every kill. Progress is
judged by the board's heartbeats; the watchdog only decides that there will be none.
"""

import os
import random
import time
from dataclasses import dataclass, field
from pathlib import Path

import slipring
from crash import bodies
from crash import journal as jn
from crash.actors import TYPES
from crash.board import Board
from crash.fleet import Child, Fleet, backtrace
from support.waiting import WATCHDOG_S

SEED = int(os.environ.get("SLIPRING_STORM_SEED", "0")) or random.randrange(1, 1 << 32)
SECONDS = float(os.environ.get("SLIPRING_STORM_SECONDS", "40"))
EPOCH_S = 20.0  # a longer storm is made of several, so that the journals stay small
LONGEST_LIFE_S = 0.03


@dataclass
class Part:
    """One seat of the storm, played by one incarnation after another."""

    name: str
    target: str  # function of crash.actors
    config: dict
    mortal: bool = True
    lives: list[tuple[int, Child, Path]] = field(default_factory=list)  # incarnation, process, journal

    @property
    def publishes(self) -> bool:
        return self.target != "reader"

    @property
    def keeps_its_place(self) -> bool:
        """Dead or alive: a cursor on a reliable topic holds the publishers back until it is read on."""
        return "cursor" in self.config.get("settings", {})

    @property
    def child(self) -> Child:
        return self.lives[-1][1]


class Ended:
    """Stands for a process that ended in good order."""

    code, alive = 0, False


class Storm:
    def __init__(self, fleet: Fleet, root: Path, work: Path, topic: str, parts: list[Part]) -> None:
        self.fleet, self.root, self.work, self.topic, self.parts = fleet, root, work, topic, parts
        self.random = random.Random(SEED)
        self.board = Board(work / "board")
        self.kills = 0
        self._incarnation = 0

    def start(self, part: Part) -> None:
        self._incarnation += 1
        journal = self.work / f"{part.name}.{self._incarnation}"
        child = self.fleet.start(
            f"crash.actors:{part.target}",
            root=str(self.root),
            topic=self.topic,
            name=part.name,
            incarnation=self._incarnation,
            seat=self.parts.index(part),
            board_path=str(self.work / "board"),
            journal_path=str(journal),
            **part.config,
        )
        part.lives.append((self._incarnation, child, journal))

    def start_all(self) -> None:
        """Readers first and one by one, so that those that live on see the topic from its beginning."""
        for part in sorted(self.parts, key=lambda part: part.publishes):
            self.start(part)
            if not part.mortal and not part.publishes:
                self._until(
                    lambda part=part: part.lives[-1][2].exists() and jn.read(part.lives[-1][2]), "start"
                )

    def kill_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(self.random.random() * LONGEST_LIFE_S)  # the random instant, not a synchronisation
            mortal = [part for part in self.parts if part.mortal]
            victims = self.random.sample(mortal, min(len(mortal), self.random.choice((1, 1, 1, 2, 3))))
            self.strike(victims)

    def strike(self, victims: list[Part]) -> None:
        for part in victims:
            if self.random.random() < 0.1:
                part.child.stop()  # dies while paused, perhaps after others
        for part in victims:
            self._unexpected(part)
            part.child.kill()
            self.kills += 1
        left = [part for part in self.parts if part not in victims]
        if any(part.publishes for part in left) and not any(part.keeps_its_place for part in victims):
            self.expect_progress()  # before anybody attaches: the survivors clear up themselves
        for part in victims:
            self.start(part)
        self.expect_progress()

    def pause_for(self, seconds: float) -> None:
        """Stops and continues parts at random instants instead of killing them."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            paused = self.random.sample(self.parts, self.random.randrange(1, len(self.parts)))
            for part in paused:
                part.child.stop()
            time.sleep(self.random.random() * LONGEST_LIFE_S)
            for part in paused:
                part.child.resume()
            self.expect_progress(self.parts)

    def expect_progress(self, of: list[Part] | None = None) -> None:
        survivors = [part for part in self.parts if not part.mortal] if of is None else of
        before = [self.board.beats(self.parts.index(part)) for part in survivors]
        for part, beats in zip(survivors, before, strict=True):
            self._until(
                lambda part=part, beats=beats: self.board.beats(self.parts.index(part)) > beats, part.name
            )

    def finish(self) -> dict:
        """Ends all in good order; the topic's counters when nobody publishes and the dead are swept."""
        self.board.order_stop()
        for part in self.parts:
            if part.target == "publisher":
                self._join(part)
        for part in self.parts:
            if part.target == "member":
                self._until(lambda part=part: self._quiet(part), part.name)
        with slipring.Bus("test", root=str(self.root)) as bus:
            self._send_last(bus)
            bus.subscriber(self.topic).close()
            stats = bus.stats(self.topic)
            self.board.order_final(stats["tail"])
            for part in self.parts:
                if part.target != "publisher":
                    self._join(part)
            assert [r for r in stats["readers"] if not r["alive"]] == []
            assert [p for p in stats["publishers"] if not p["alive"]] == []
            assert bus.doctor() == []
            return bus.stats(self.topic)

    def _send_last(self, bus) -> None:
        """A message behind all others, so that every reader can tell that it has reached the end."""
        self._incarnation += 1
        path = self.work / f"closing.{self._incarnation}"
        with bus.publisher(self.topic, sender=f"i{self._incarnation}") as pub:
            sequence = pub.send(bodies.make(self._incarnation, 0, 100), type=TYPES[0], timeout=WATCHDOG_S)
        journal = jn.Journal(path)
        journal.write(jn.SENT, 0, sequence, 1)
        journal.close()
        self.parts.append(Part("closing", "publisher", {}, False, [(self._incarnation, Ended(), path)]))

    def _quiet(self, part: Part) -> bool:
        return any(record[0] == jn.QUIET for record in jn.read(part.lives[-1][2]))

    def _join(self, part: Part) -> None:
        code = part.child.join()
        assert code == 0, f"{part.name} ended with {code}\n{self.fleet.errors()}"

    def _unexpected(self, part: Part) -> None:
        assert part.child.alive, (
            f"{part.name} ({part.child.pid}) ended by itself: {part.child.join()}\n{self.fleet.errors()}"
        )

    def _until(self, condition, who: str) -> None:
        deadline = time.monotonic() + WATCHDOG_S
        while not condition():
            if time.monotonic() > deadline:
                with slipring.Bus("test", root=str(self.root)) as bus:
                    stats = bus.stats(self.topic)
                raise AssertionError(f"{who} stands still (seed {SEED})\n{stats}\n{self._all_stacks()}")
            for part in self.parts:
                if part.lives:
                    self._unexpected_unless_done(part)
            time.sleep(0.001)

    def _unexpected_unless_done(self, part: Part) -> None:
        if part.child.code is None and not part.child.alive:
            self._unexpected(part)

    def _all_stacks(self) -> str:
        alive = [part for part in self.parts if part.lives and part.child.alive]
        return "\n".join(f"== {part.name}\n{backtrace(part.child.pid)}" for part in alive)

    def close(self) -> None:
        self.board.close()
