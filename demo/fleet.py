# SPDX-License-Identifier: Apache-2.0
"""The processes of the robot: each seat is played by one life after another.

Every life is a fresh interpreter, no fork of anything that has touched a bus, and in a process group of its
own, so that Ctrl-C reaches the show alone. A process that is gone without having been told to is remembered
with what it wrote to stderr. `close` leaves no process, whatever happened before.
"""

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from demo import cast, library


@dataclass
class Life:
    """One process that plays a seat."""

    seat: cast.Seat
    incarnation: int
    process: subprocess.Popen[bytes]
    journal: Path
    errors: Path
    started_ns: int
    ended_ns: int | None = None
    exit_code: int | None = None
    killed: bool = False
    stopped: bool = False

    @property
    def running(self) -> bool:
        return self.exit_code is None

    def end(self, exit_code: int) -> None:
        self.exit_code, self.ended_ns = exit_code, time.monotonic_ns()

    @property
    def ended_by_itself(self) -> bool:
        return self.exit_code not in (None, 0) and not self.killed


class Fleet:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._journals = root / "journals"
        self._journals.mkdir()
        library.copy(root / "library")
        self._environment = library.environment(root / "library")
        self.lives: list[Life] = []
        self.now_playing: dict[str, Life] = {}

    def start(self, seat: cast.Seat) -> Life:
        incarnation = len(self.lives) + 1
        stem = self._journals / f"{seat.name}-{incarnation}"
        journal, errors = stem.with_suffix(".journal"), stem.with_suffix(".err")
        config = {
            "seat": seat.name,
            "incarnation": incarnation,
            "root": str(self._root / "bus"),
            "journal": str(journal),
            "parent": os.getpid(),
        }
        with errors.open("wb") as stderr:
            process = subprocess.Popen(
                [*library.interpreter(), "-m", "demo.actor", json.dumps(config)],
                cwd=self._root,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=stderr,
                stderr=stderr,
                process_group=0,
            )
        life = Life(seat, incarnation, process, journal, errors, time.monotonic_ns())
        self.lives.append(life)
        self.now_playing[seat.name] = life
        return life

    def kill(self, life: Life) -> int:
        """SIGKILL and reap; the instant of the kill."""
        life.killed = True
        at_ns = time.monotonic_ns()
        life.process.kill()
        life.end(life.process.wait())
        life.ended_ns = at_ns
        return at_ns

    def stop(self, life: Life) -> None:
        life.process.send_signal(signal.SIGSTOP)
        life.stopped = True

    def resume(self, life: Life) -> None:
        life.stopped = False
        life.process.send_signal(signal.SIGCONT)

    def order(self, life: Life, order: signal.Signals) -> None:
        life.process.send_signal(order)

    def reap(self) -> list[Life]:
        """Lives that ended since the last look, without having been killed."""
        ended = []
        for life in self.now_playing.values():
            if life.running and (code := life.process.poll()) is not None:
                life.end(code)
                ended.append(life)
        return ended

    def close(self) -> None:
        for life in self.lives:
            if life.running:
                self.kill(life)
