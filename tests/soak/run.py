# SPDX-License-Identifier: Apache-2.0
"""One soak from the first process to the last file. A strike every two seconds; a sample every few; both go to files
as they happen, so that an interrupted soak still tells what it reached. SIGTERM and SIGINT end it early, in order."""

import contextlib
import json
import os
import random
import signal
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demo.journal import Journal, Kind

import slipring
from crash.board import LOST, RECEIVED, Board
from soak import bodies, cast, probes
from soak.recording import Recording
from soak.troop import Player, Troop
from support.waiting import eventually

STRIKE_EVERY_S = 2.0
_PAUSED, _DIES_PAUSED, _PAUSE_S = 0.2, 0.3, (0.2, 1.5)
_LOOK_S = 0.05


@dataclass
class Outcome:
    """What is known when all processes are gone; the rest is in files of the work directory."""

    kills: int = 0
    pauses: int = 0
    deaths: int = 0
    errors: str = ""
    stats: dict[str, dict[str, Any]] = field(default_factory=dict)
    recording: dict[str, Any] | None = None
    recording_restarts: int = 0
    left_over: list[str] = field(default_factory=list)
    began: float = 0.0
    ended: float = 0.0
    interrupted: bool = False
    failure: str = ""  # the soak itself came to grief: then nothing of the above is known for sure


class Soak:
    def __init__(
        self,
        root: Path,
        out: Path,
        seconds: float,
        slots: int,
        seed: int,
        record: bool,
        leaks: dict[str, str],
    ) -> None:
        self._root, self._work, self._seconds = root, out / "work", seconds
        self._work.mkdir(parents=True)
        self._random = random.Random(seed)
        self._settings = cast.settings(slots)
        self._bus = slipring.Bus(cast.BUS, root=str(root))
        for topic, settings in self._settings.items():
            self._bus.create(topic, **settings)
        self.board = Board(self._work / "board")
        self.troop = Troop(root, self._work, cast.seats(slots), leaks)
        self.recording = Recording(root, out) if record else None
        self._samples = (self._work / "samples.jsonl").open("a")
        self._gaps = (self._work / "gaps.jsonl").open("a")
        self._sample_every_s = min(10.0, max(0.5, seconds / 240))
        self._stop = False
        self.outcome = Outcome()

    def play(self) -> Outcome:
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, self._heed)
        try:
            self._open()
            self._go_on()
            self._finish()
        except Exception:  # noqa: BLE001 (told as a failed claim, beside what was reached)
            self.outcome.failure = traceback.format_exc()
        return self.outcome

    def _go_on(self) -> None:
        self._began = time.monotonic()
        self.outcome.began = self.outcome.ended = time.time()
        next_strike = next_sample = self._began
        while not self._stop and time.monotonic() - self._began < self._seconds:
            now = time.monotonic()
            if now >= next_sample:
                next_sample = now + self._sample_every_s
                with contextlib.suppress(OSError, KeyError):  # a process ended as it was looked at
                    self._sample(now - self._began)
            if now >= next_strike:
                next_strike = now + STRIKE_EVERY_S
                self._strike(now - self._began)
            self._tend(now)
            time.sleep(_LOOK_S)
            self.outcome.ended = time.time()
        self.outcome.interrupted = self._stop

    def _heed(self, *_: object) -> None:
        self._stop = True

    def _open(self) -> None:
        if self.recording is not None:
            self.recording.wait_until_it_records(self._bus)
        for player in self.troop.players:
            self.troop.start(player)
            if not player.seat.publishes:
                path = self.troop.journals / player.journal
                eventually(
                    lambda path=path: path.exists() and path.stat().st_size, f"{player.seat.name} begins"
                )

    def _tend(self, now: float) -> None:
        for player in self.troop.players:
            if player.paused_until and now >= player.paused_until:
                if self._random.random() < _DIES_PAUSED:
                    self._kill(player)
                else:
                    self.troop.resume(player)
        self.troop.replace_the_dead()
        if self.recording is not None:
            self.recording.replace_if_dead()

    def _strike(self, at_s: float) -> None:
        """The survivors' gaps since the strike before are told first."""
        gaps = {
            player.seat.name: self.board.gap_ns(player.number) / 1e6
            for player in self.troop.players
            if player.seat.has_a_pulse
        }
        mortal = [player for player in self.troop.players if player.seat.mortal and not player.paused_until]
        victim = self._random.choice(mortal)
        paused = self._random.random() < _PAUSED
        line = {"s": at_s, "gaps_ms": gaps, "next": victim.seat.name, "how": "pause" if paused else "kill"}
        self._gaps.write(json.dumps(line) + "\n")
        self._gaps.flush()
        self.board.count_strike()
        if paused:
            self.troop.pause(victim, self._random.uniform(*_PAUSE_S))
        else:
            self._kill(victim)

    def _kill(self, player: Player) -> None:
        self.troop.kill(player)
        self.troop.start(player)

    def _sample(self, at_s: float) -> None:
        players = [player for player in self.troop.players if not player.seat.mortal]
        sample: dict[str, Any] = {
            "s": at_s,
            "processes": {p.seat.name: probes.process(p.child.pid) for p in players if p.child is not None},
            "supervisor": probes.process(os.getpid()),
            "nursery": probes.process(self.troop.nursery_pid),
            "children_cpu_s": probes.cpu_s(self.troop.nursery_pid, of_children=True),
            "root": probes.bus_root(self._root),
            "entries": probes.tables(self._bus, cast.TOPICS),
            "kills": self.troop.kills,
            "pauses": self.troop.pauses,
            "lost": {p.seat.name: self.board.word(p.number, LOST) for p in players},
            "received": {p.seat.name: self.board.word(p.number, RECEIVED) for p in players},
        }
        if self.recording is not None:
            sample["recording"] = probes.group(self.recording.pid)
        self._samples.write(json.dumps(sample) + "\n")
        self._samples.flush()

    def _finish(self) -> None:
        """Publishers end, a last message goes out, readers read to it, Spark records to it."""
        for player in self.troop.players:
            if player.paused_until:
                self.troop.resume(player)
        self.board.order_stop()
        self.troop.join(publishers=True)
        for number, topic in enumerate(cast.TOPICS):
            self._send_last(number, topic)
            self.board.order_end(self._bus.stats(topic)["tail"], number)
        self.troop.join(publishers=False)
        outcome = self.outcome
        if self.recording is not None:
            outcome.recording = self.recording.finish()
            outcome.recording_restarts = self.recording.restarts
        outcome.kills, outcome.pauses, outcome.deaths = self.troop.kills, self.troop.pauses, self.troop.deaths
        outcome.errors = self.troop.fleet.errors()
        self._take_stock()

    def _send_last(self, number: int, topic: str) -> None:
        incarnation = self.troop.next_incarnation()
        who, name = bodies.identity(incarnation, 1), f"closing.{incarnation}"
        with self._bus.publisher(topic, sender=f"i{incarnation}") as pub:
            seq = pub.send(bodies.make(who, 100), type="last")
        journal = Journal(self.troop.journals / name)
        journal.write(Kind.SENT, number, seq, who, 1)
        journal.close()
        self.troop.note("closing", number, incarnation, name, 0, False)

    def _take_stock(self) -> None:
        outcome = self.outcome
        for topic in cast.TOPICS:
            self._bus.publisher(topic).close()  # whoever comes clears what the dead left
            stats = outcome.stats[topic] = self._bus.stats(topic)
            left = [*stats["publishers"], *stats["readers"]]
            outcome.left_over += [f"{topic}: entry {entry}" for entry in left]
            names = {cursor["name"] for cursor in stats["cursors"]} - {cast.CURSOR}
            outcome.left_over += [f"{topic}: cursor {name}" for name in sorted(names)]
        outcome.left_over += [f"the doctor: {finding}" for finding in self._bus.doctor()]
        for topic in cast.TOPICS:
            self._bus.remove(topic)
        outcome.left_over += [f"file {path}" for path in (self._root / cast.BUS).iterdir()]

    def close(self) -> None:
        if self.recording is not None:
            self.recording.close()
        self.troop.close()
        self._bus.close()
        self.board.close()
        self._samples.close()
        self._gaps.close()
