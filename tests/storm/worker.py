# SPDX-License-Identifier: Apache-2.0
"""The base of every process of a storm, a soak or the demo: bus, journal, row on the board, number.

    def publisher(worker: dict, …) -> None:      # called by the fork server
        me = Worker(**worker)
        while not me.stopping:
            …

A worker publishes until `stopping`, reads until `ending`, and returns; or it is killed.
"""

import os
import random
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import slipring
from storm import bodies
from storm.board import LOST, RECEIVED, Board, Pulse
from storm.journal import CHANGED, TORN, Journal, Kind, Record

_LEAKED_BYTES = 64 << 10


@dataclass
class Worker:
    root: str
    bus_name: str
    topics: list[str]  # a topic's number is its index
    topic_number: int
    name: str  # of the role
    life: int  # unique number of this process
    row: int  # on the board
    board_path: str
    journal_path: str
    leak: str = ""  # planted leak: "memory" or "descriptors", a little with every beat
    counter: int = 0
    _leaked: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bus = slipring.Bus(self.bus_name, root=self.root)
        self.board = Board(self.board_path)
        self.journal = Journal(self.journal_path)
        self.random = random.Random(self.life)
        self._pulse = Pulse(self.board, self.row)

    @property
    def topic(self) -> str:
        return self.topics[self.topic_number]

    @property
    def sender(self) -> str:
        return f"i{self.life}"

    @property
    def stopping(self) -> bool:
        """Whether the supervisor has ordered to stop publishing."""
        return self.board.stopping

    @property
    def ending(self) -> bool:
        """Whether publishing has ended: read to the end, then return."""
        return self.board.final(self.topic_number) is not None

    def reached_end(self, position: int) -> bool:
        return self.board.reached_end(position, self.topic_number)

    def next_identity(self, step: int = 1) -> int:
        self.counter += step
        return bodies.identity(self.life, self.counter)

    def write(self, kind: Kind, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> None:
        self.journal.write(kind, self.topic_number, a, b, c, d)

    def beat(self) -> None:
        self._pulse.beat()
        if self.leak == "memory":
            self._leaked.append(os.urandom(_LEAKED_BYTES))
        elif self.leak == "descriptors" and len(self._leaked) < 500:
            self._leaked.append(os.dup(0))


class Reading:
    """One subscriber. Messages and counters are recorded in one write: RECEIVED … RECEIVED COUNTED.

    `account_s` is the interval of the counters, which are also written when `lost` changes. A process killed between
    the call and the write has not received the messages; its previous counters are exact for their position.
    """

    def __init__(self, me: Worker, subscriber: Any, account_s: float = 0.0) -> None:
        self.me, self.subscriber = me, subscriber
        self.topic = me.topics.index(subscriber.topic)
        self._account_ns, self._counted_ns, self._lost = int(account_s * 1e9), 0, 0
        me.journal.write_all([self._counters(Kind.STARTED)])

    def _counters(self, kind: Kind) -> Record:
        stats = self.subscriber.stats()
        counts = (stats["position"], stats["received"], stats["lost"], stats["filtered"])
        return Record(kind, self.topic, time.monotonic_ns(), *counts)

    def received(self, seq: int, opened: tuple[int, int] | None, size: int) -> Record:
        """Return the record of a message. opened: identity and time of sending, from bodies.check."""
        now = time.monotonic_ns()
        if opened is None:
            return Record(Kind.CORRUPT, self.topic, now, seq, 0, TORN)
        return Record(Kind.RECEIVED, self.topic, now, seq, *opened, size)

    def changed(self, seq: int) -> Record:
        return Record(Kind.CORRUPT, self.topic, time.monotonic_ns(), seq, 0, CHANGED)

    def write(self, rows: Iterable[Record]) -> None:
        rows, now = list(rows), time.monotonic_ns()
        if now - self._counted_ns >= self._account_ns or self.subscriber.lost != self._lost:
            counted = self._counters(Kind.COUNTED)
            rows.append(counted)
            self._lost, self._counted_ns = counted.c, now
            self.me.board.set(self.me.row, RECEIVED, counted.b)
            self.me.board.set(self.me.row, LOST, counted.c)
        self.me.journal.write_all(rows)

    def commit(self) -> None:
        self.me.journal.write(Kind.COMMITTING, self.topic, self.subscriber.position)
        self.subscriber.commit()
        self.me.journal.write(Kind.COMMITTED, self.topic, self.subscriber.position)

    def end(self) -> None:
        ended = Record(Kind.ENDED, self.topic, time.monotonic_ns())
        self.me.journal.write_all([self._counters(Kind.COUNTED), ended])


class Pace:
    """A tick every period_s. Ticks missed during a pause are skipped."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._next = time.monotonic()

    def left_s(self) -> float:
        """Return the seconds until the next tick; 0 or less if it is due."""
        return self._next - time.monotonic()

    def tick(self) -> None:
        """Take the tick. The next one is due a period later."""
        self._next = max(self._next + self._period_s, time.monotonic())

    def wait(self) -> None:
        self.tick()
        left_s = self.left_s()
        if left_s > 0:
            time.sleep(left_s)
