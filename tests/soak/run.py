# SPDX-License-Identifier: Apache-2.0
"""One soak from the first process to the last file.

There is a strike every two seconds and a sample every few. Both are written to files at once, so an interrupted soak
can be audited. SIGTERM and SIGINT end it early and in order.
"""

import contextlib
import json
import os
import signal
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import slipring
from soak import plan, probes
from soak.recording import Recording
from storm import journal, native
from storm.board import LOST, RECEIVED
from storm.journal import Kind
from storm.strikes import Schedule
from storm.supervisor import Role, Supervisor

_LOOK_S = 0.05


@dataclass
class Outcome:
    """The results in memory after the last process has ended. The other results are files of the work directory."""

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
    failure: str = ""  # of the soak itself: the results above may be incomplete then


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
        self._bus = slipring.Bus(plan.BUS, root=str(root))
        for topic, settings in plan.settings(slots).items():
            self._bus.create(topic, **settings)
        self._work.mkdir(parents=True)
        native.build()
        roles = plan.roles(slots)
        for role in roles:
            role.leak = leaks.get(role.name, "")
        self.supervisor = Supervisor(
            root, self._work, plan.BUS, plan.TOPICS, roles, plan.PRELOAD, plan.STEADY_MALLOC
        )
        self._strikes = Schedule(self.supervisor, seed, plan.STRIKES, before=self._note_gaps)
        self.recording = Recording(root, out) if record else None
        self._samples = (self._work / "samples.jsonl").open("a")
        self._gaps = (self._work / "gaps.jsonl").open("a")
        self._sample_every_s = min(10.0, max(0.5, seconds / 240))
        self._stop = False
        self.outcome = Outcome()

    def play(self) -> Outcome:
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, self._request_stop)
        try:
            self._open()
            self._go_on()
            self._finish()
        except Exception:  # noqa: BLE001 (reported as a failed claim, beside what was reached)
            self.outcome.failure = traceback.format_exc()
        return self.outcome

    def _go_on(self) -> None:
        self._began = time.monotonic()
        self.outcome.began = self.outcome.ended = time.time()
        next_sample = self._began
        while not self._stop and time.monotonic() - self._began < self._seconds:
            now = time.monotonic()
            if now >= next_sample:
                next_sample = now + self._sample_every_s
                with contextlib.suppress(OSError, KeyError):  # a process ended during the sample
                    self._sample(now - self._began)
            self._strikes.step()
            if self.recording is not None:
                self.recording.replace_if_dead()
            time.sleep(_LOOK_S)
            self.outcome.ended = time.time()
        self.outcome.interrupted = self._stop

    def _request_stop(self, *_: object) -> None:
        self._stop = True

    def _open(self) -> None:
        if self.recording is not None:
            self.recording.wait_until_it_records(self._bus)
        for role in self.supervisor.roles:
            self.supervisor.start(role)
            if not role.publishes:
                self.supervisor.until(
                    lambda role=role: journal.count(role.journal, Kind.STARTED, 1) or not role.alive,
                    f"{role.name} starts",
                )

    def _note_gaps(self, victim: Role, how: str) -> None:
        """Record before a strike the gaps of the survivors since the previous strike."""
        gaps = {
            role.name: self.supervisor.gap_ms(role) for role in self.supervisor.roles if plan.feels_gaps(role)
        }
        at_s = time.monotonic() - self._began
        line = {"s": at_s, "gaps_ms": gaps, "next": victim.name, "how": how}
        self._gaps.write(json.dumps(line) + "\n")
        self._gaps.flush()

    def _sample(self, at_s: float) -> None:
        supervisor = self.supervisor
        board, survivors = supervisor.board, supervisor.survivors
        sample: dict[str, Any] = {
            "s": at_s,
            "processes": {r.name: probes.process(r.process.pid) for r in survivors if r.process is not None},
            "supervisor": probes.process(os.getpid()),
            "fork_server": probes.process(supervisor.server.pid),
            "children_cpu_s": probes.cpu_s(supervisor.server.pid, of_children=True),
            "root": probes.bus_root(self._root),
            "entries": probes.tables(self._bus, plan.TOPICS),
            "kills": supervisor.kills,
            "pauses": supervisor.pauses,
            "lost": {role.name: board.word(role.row, LOST) for role in survivors},
            "received": {role.name: board.word(role.row, RECEIVED) for role in survivors},
        }
        if self.recording is not None:
            sample["recording"] = probes.group(self.recording.pid)
        self._samples.write(json.dumps(sample) + "\n")
        self._samples.flush()

    def _finish(self) -> None:
        """End the publishers, send a last message, and wait until readers and recording have reached it."""
        supervisor, outcome = self.supervisor, self.outcome
        self._strikes.finish()
        supervisor.board.order_stop()
        self._join(publishers=True)
        for topic in plan.TOPICS:
            supervisor.send_last(self._bus, topic)
        self._join(publishers=False)
        if self.recording is not None:
            outcome.recording = self.recording.finish()
            outcome.recording_restarts = self.recording.restarts
        outcome.kills, outcome.pauses = supervisor.kills, supervisor.pauses
        outcome.deaths, outcome.errors = self._strikes.deaths, supervisor.server.errors()
        self._take_stock()

    def _join(self, publishers: bool) -> None:
        for role in self.supervisor.roles:
            if role.publishes == publishers and role.process is not None:
                self.supervisor.join(role)

    def _take_stock(self) -> None:
        outcome = self.outcome
        for topic in plan.TOPICS:
            self._bus.publisher(topic).close()  # an attach frees the entries of dead processes
            stats = outcome.stats[topic] = self._bus.stats(topic)
            left = [*stats["publishers"], *stats["readers"]]
            outcome.left_over += [f"{topic}: entry {entry}" for entry in left]
            names = {cursor["name"] for cursor in stats["cursors"]} - {plan.CURSOR}
            outcome.left_over += [f"{topic}: cursor {name}" for name in sorted(names)]
        outcome.left_over += [f"the doctor: {finding}" for finding in self._bus.doctor()]
        for topic in plan.TOPICS:
            self._bus.remove(topic)
        outcome.left_over += [f"file {path}" for path in (self._root / plan.BUS).iterdir()]

    def close(self) -> None:
        if self.recording is not None:
            self.recording.close()
        self.supervisor.close()
        self._bus.close()
        self._samples.close()
        self._gaps.close()
        self._samples.close()
        self._gaps.close()
