# SPDX-License-Identifier: Apache-2.0
"""The seats of a soak and who plays them: started, killed, paused. Each life is one line of lives.jsonl, written when
it ends: nothing about the dead is kept in memory, which has to stay flat too."""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from crash.fleet import Child, Fleet
from soak import native
from soak.cast import Seat

PRELOAD = ["soak.publishers", "soak.readers", "soak.native", "pyarrow"]
# Else glibc keeps up to twice the largest message once it was freed, and calm looks like growth for an hour.
_STEADY_MALLOC = {
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "131072",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


@dataclass
class Player:
    seat: Seat
    number: int
    child: Child | None = None
    incarnation: int = 0
    journal: str = ""
    paused_until: float = 0.0


class Troop:
    def __init__(self, root: Path, work: Path, seats: list[Seat], leaks: dict[str, str]) -> None:
        self._root, self._work, self._leaks = root, work, leaks
        self.journals = work / "journals"
        self.journals.mkdir()
        native.build(work)
        self.board_path = work / "board"
        self.lives_path = work / "lives.jsonl"
        self._lives: IO[str] = self.lives_path.open("a")
        self.players = [Player(seat, number) for number, seat in enumerate(seats)]
        os.environ.update(_STEADY_MALLOC)
        self.fleet = Fleet(preload=PRELOAD)
        self._incarnations = 0
        self.kills = self.pauses = self.deaths = 0

    @property
    def nursery_pid(self) -> int:
        return self.fleet.pid

    def next_incarnation(self) -> int:
        self._incarnations += 1
        return self._incarnations

    def start(self, player: Player) -> None:
        seat, player.incarnation = player.seat, self.next_incarnation()
        player.journal = f"{seat.name}.{player.incarnation}"
        player.child = self.fleet.start(
            seat.role,
            root=str(self._root),
            topic=seat.topic,
            name=seat.name,
            incarnation=player.incarnation,
            seat=player.number,
            board_path=str(self.board_path),
            journal_path=str(self.journals / player.journal),
            leak=self._leaks.get(seat.name, ""),
            **seat.config,
        )

    def kill(self, player: Player) -> None:
        assert player.child is not None
        alive = player.child.alive
        code = player.child.kill()
        self.kills += alive
        self._ended(player, code, killed=alive)

    def replace_the_dead(self) -> None:
        """A process that ended by itself is told as that, and its seat is played on."""
        for player in self.players:
            if player.child is not None and not player.child.alive:
                self.deaths += 1
                self._ended(player, player.child.join(), killed=False)
                self.start(player)

    def pause(self, player: Player, seconds: float) -> None:
        assert player.child is not None
        player.child.stop()
        player.paused_until = time.monotonic() + seconds
        self.pauses += 1

    def resume(self, player: Player) -> None:
        assert player.child is not None
        player.child.resume()
        player.paused_until = 0.0

    def join(self, publishers: bool) -> None:
        for player in self.players:
            if player.seat.publishes == publishers and player.child is not None:
                self._ended(player, player.child.join(), killed=False)

    def _ended(self, player: Player, code: int, killed: bool) -> None:
        player.child, player.paused_until = None, 0.0
        self.note(player.seat.name, player.seat.topic, player.incarnation, player.journal, code, killed)

    def note(self, name: str, topic: int, incarnation: int, journal: str, code: int, killed: bool) -> None:
        life: dict[str, Any] = {"seat": name, "topic": topic, "incarnation": incarnation, "journal": journal}
        self._lives.write(json.dumps({**life, "code": code, "killed": killed}) + "\n")
        self._lives.flush()

    def close(self) -> None:
        self.fleet.close()
        self._lives.close()
