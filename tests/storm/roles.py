# SPDX-License-Identifier: Apache-2.0
"""Publishers, readers and members for storms and soaks, as functions for the fork server. storm/c has them in C.

They use every way to publish and to read, check every body, sender and type, and record each step.
"""

import os
import time
from dataclasses import dataclass
from typing import Any

import slipring
from storm import bodies
from storm.board import Board, Pulse
from storm.journal import Kind, Record
from storm.worker import Pace, Reading, Worker

MOST_IN_A_BATCH = 12
POLL_S = 0.05  # interval at which a waiting reader reads the board
_MOST_TAKEN = 40
_HELD_LONGER, _NAP_EVERY = 0.1, 0.6  # share of held messages; time awake as a part of the nap's messages


class AbortLoanError(Exception):
    pass


class _Publisher:
    def __init__(self, me: Worker, pub: Any, usual: int, largest: int, smallest: int, aborted: float) -> None:
        self._me, self._pub, self._aborted = me, pub, aborted
        self._usual, self._largest, self._smallest = usual, largest, smallest

    def _body(self, who: int, smallest: int = bodies.HEADER_BYTES) -> bytes | bytearray:
        return bodies.make(who, bodies.size(self._me.random, self._usual, self._largest, smallest))

    def send(self) -> None:
        who = self._me.next_identity()
        body = self._body(who, self._smallest)
        self._report(who, 1, lambda: self._pub.send(body, type=_type(who)))

    def send_many(self) -> None:
        """Every second counter, because a batch has one type."""
        first = self._me.next_identity()
        whos = [
            first,
            *(self._me.next_identity(2) for _ in range(self._me.random.randrange(MOST_IN_A_BATCH - 1))),
        ]
        batch = [self._body(who) for who in whos]
        self._report(whos[-1], len(whos), lambda: self._pub.send_many(batch, type=_type(first)))

    def loan(self) -> None:
        who = self._me.next_identity()
        body = self._body(who)
        poisoned = bodies.make(who | bodies.POISON, len(body))

        def fill() -> int:
            loan = self._pub.loan(len(body), type=_type(who))
            with loan as view:
                view[:] = poisoned
                if self._me.random.random() < self._aborted:
                    raise AbortLoanError
                view[:] = body
            return loan.seq

        try:
            self._report(who, 1, fill)
        except AbortLoanError:
            self._me.write(Kind.ABORTED, 0, who)

    def _report(self, last: int, count: int, publish: Any) -> None:
        step = 2 if count > 1 else 1
        while True:
            try:
                seq = publish()
            except slipring.Full:  # on a lossy topic: a reader holds a message for a whole lap
                if count > 1 or self._me.stopping:
                    self._me.write(Kind.REFUSED, 0, last, count, step)
                    return
                os.sched_yield()
            else:
                self._me.write(Kind.SENT, seq, last, count, step)
                self._me.beat()
                return


def _type(who: int) -> str:
    return bodies.TYPES[who % 2]


def publisher(
    worker: dict,
    ways: list[str],
    usual: int = 400,
    largest: int = 2048,
    smallest: int = bodies.HEADER_BYTES,
    aborted: float = 0.1,
    period_s: float = 0.0,
) -> None:
    me, pace = Worker(**worker), Pace(period_s)
    with me.bus.publisher(me.topic, sender=me.sender) as pub:
        publishing = _Publisher(me, pub, usual, largest, smallest, aborted)
        me.write(Kind.BEGAN)
        while not me.stopping:
            if period_s:
                pace.wait()
            getattr(publishing, me.random.choice(ways))()


class _Reader:
    def __init__(
        self, me: Worker, reading: Reading, largest: int = 0, hold_s: float = 0.0, most: int = 0
    ) -> None:
        self._me, self._reading, self._sub = me, reading, reading.subscriber
        self._room, self._hold_s, self._most = bytearray(largest), hold_s, most

    def row(self, message: Any) -> Record:
        opened = bodies.check(message.sender, message.body)
        right = opened and bodies.type_is_right(opened[0], message.type) and message.topic == self._me.topic
        return self._reading.received(message.seq, opened if right else None, len(message.body))

    def _rows(self, *messages: Any) -> list[Record]:
        return [self.row(message) for message in messages if message is not None]

    def _batch(self) -> int:
        return self._most or self._me.random.randrange(1, _MOST_TAKEN)

    def recv(self) -> list[Record]:
        return self._rows(self._sub.recv(timeout=POLL_S))

    def recv_many(self) -> list[Record]:
        return self._rows(*self._sub.recv_many(self._batch(), timeout=POLL_S))

    def recv_batch(self) -> list[Record]:
        batch = self._sub.recv_batch(self._batch(), timeout=POLL_S)
        columns = (batch.column(name) for name in ("offset", "sender", "type", "value"))
        return [
            self.row(
                _Row(self._me.topic, seq.as_py(), who.as_py(), of.as_py(), memoryview(value.as_buffer()))
            )
            for seq, who, of, value in zip(*columns, strict=True)
        ]

    def recv_into(self) -> list[Record]:
        return self._rows(self._sub.recv_into(self._room, timeout=POLL_S))

    def view(self) -> list[Record]:
        with self._sub.view(timeout=POLL_S) as message:
            if message is None:
                return []
            before, contents = self.row(message), bytes(message.body)
            for _ in range(self._me.random.randrange(4)):
                os.sched_yield()
            if self._hold_s and self._me.random.random() < _HELD_LONGER:
                time.sleep(self._me.random.random() * self._hold_s)
            return [before if bytes(message.body) == contents else self._reading.changed(message.seq)]

    def wait(self) -> list[Record]:
        ready = slipring.wait([self._sub], timeout=POLL_S)
        return self._rows(self._sub.recv(timeout=0)) if ready else []


@dataclass
class _Row:
    """Return the message as a row of a batch."""

    topic: str
    seq: int
    sender: str
    type: str
    body: memoryview


def reader(
    worker: dict,
    take: str,
    settings: dict,
    largest: int = 1 << 16,
    account_s: float = 0.0,
    hold_s: float = 0.0,
    commits: float = 0.2,
    nap_messages: int = 0,
    most: int = 0,
) -> None:
    """Read until the end. most: size of a batch; 0: random. nap_messages: pause again and again until so many messages
    behind, so that a lossy ring laps the reader."""
    me = Worker(**worker)
    if isinstance(settings.get("types"), list):
        settings["types"] = tuple(settings["types"])
    with me.bus.subscriber(me.topic, **settings) as sub:
        reading = Reading(me, sub, account_s)
        taking = getattr(_Reader(me, reading, largest, hold_s, most), take)
        awake = nap_messages  # a nap comes first
        while True:
            rows = taking()
            if rows:
                reading.write(rows)
                me.beat()
                awake += len(rows)
            elif me.reached_end(sub.position):
                break
            if "cursor" in settings and (not rows or me.random.random() < commits):
                reading.commit()
            if nap_messages and awake > nap_messages * _NAP_EVERY:
                _nap(me, sub, nap_messages)
                awake = 0
        reading.end()


def _nap(me: Worker, sub: Any, messages: int) -> None:
    while sub.lag < messages and not me.stopping:
        time.sleep(POLL_S)


def member(worker: dict, usual: int = 400, largest: int = 2048) -> None:
    """Send and receive on one topic. A member does not receive its own messages."""
    me = Worker(**worker)
    with me.bus.join(me.topic, me.sender) as both:
        publishing = _Publisher(me, both, usual, largest, bodies.HEADER_BYTES, 0.0)
        reading = Reading(me, both.subscriber)
        reader = _Reader(me, reading)

        def take_all(timeout: float) -> None:
            rows = [reader.row(message) for message in both.recv_many(1 << 16, timeout=timeout)]
            if rows:
                reading.write(rows)

        while not me.stopping:
            publishing.send()
            take_all(0)
        me.write(Kind.QUIET)
        while not (me.reached_end(both.subscriber.position) and both.lag == 0):
            take_all(POLL_S)
        reading.end()


def metronome(board_path: str, row: int) -> None:
    """Beat without Slipring: its gaps are those of the machine."""
    pulse = Pulse(Board(board_path), row)
    while True:
        time.sleep(0.001)
        pulse.beat()
