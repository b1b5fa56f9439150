# SPDX-License-Identifier: Apache-2.0
"""The publishers, subscribers and members of a storm. Each runs in a process of its own until it is killed or
told to end, writes what it did into its journal, and counts its progress on the board."""

import os
import random
import time
from dataclasses import dataclass

import slipring
from crash import bodies
from crash import journal as jn
from crash.board import Board, Pulse
from crash.journal import Journal

MOST_IN_A_BATCH = 12
POLL_S = 0.05  # how often a waiting reader looks at the board
TYPES = ("even", "odd")


class AbortLoanError(Exception):
    pass


@dataclass
class Life:
    """One incarnation: where it lives, who it is, where it reports."""

    root: str
    topic: str
    name: str
    incarnation: int
    seat: int
    board_path: str
    journal_path: str
    largest: int = 2048

    def __post_init__(self) -> None:
        self.bus = slipring.Bus("test", root=self.root)
        self.board = Board(self.board_path)
        self.journal = Journal(self.journal_path)
        self.random = random.Random(self.incarnation)
        self.counter = 0
        self._pulse = Pulse(self.board, self.seat)

    @property
    def sender(self) -> str:
        return f"i{self.incarnation}"

    def body(self, counter: int) -> bytes:
        large = self.random.random() < 0.01
        return bodies.make(self.incarnation, counter, self.random.randrange(self.largest if large else 400))

    def beat(self) -> None:
        self._pulse.beat()

    def row(self, message, lost: int = jn.UNKNOWN, again=None) -> tuple:
        """The journal's record of a message; `again` is what a held body holds at the end."""
        body = bytes(message.body)
        incarnation, counter = bodies.read(body)
        expected = (f"i{incarnation & ~bodies.POISON}", TYPES[counter % 2], self.topic)
        if (message.sender, message.type, message.topic) != expected:
            incarnation = bodies.TORN
        if again is not None and again() != body:
            incarnation = bodies.CHANGED
        return (jn.GOT, message.seq, incarnation, counter, lost)


def publisher(ways: list[str], **life) -> None:
    me = Life(**life)
    with me.bus.publisher(me.topic, sender=me.sender) as pub:
        while not me.board.stopping:
            _PUBLISH[me.random.choice(ways)](me, pub)


def _send(me: Life, pub) -> None:
    counter, me.counter = me.counter, me.counter + 1
    _report(me, counter, 1, lambda: pub.send(me.body(counter), type=TYPES[counter % 2]))


def _send_many(me: Life, pub) -> None:
    """Every second counter, because a batch has one type."""
    count = me.random.randrange(1, MOST_IN_A_BATCH)
    counters = range(me.counter, me.counter + 2 * count, 2)
    me.counter = counters[-1] + 1
    batch = [me.body(counter) for counter in counters]
    _report(me, counters[-1], count, lambda: pub.send_many(batch, type=TYPES[counters[-1] % 2]))


def _loan(me: Life, pub) -> None:
    counter, me.counter = me.counter, me.counter + 1
    body = me.body(counter)

    def fill() -> int:
        loan = pub.loan(len(body), type=TYPES[counter % 2])
        with loan as view:
            view[:] = bodies.make(me.incarnation | bodies.POISON, counter, len(body))
            if me.random.random() < 0.1:
                raise AbortLoanError
            view[:] = body
        return loan.seq

    try:
        _report(me, counter, 1, fill)
    except AbortLoanError:
        me.journal.write(jn.ABORT)


_PUBLISH = {"send": _send, "send_many": _send_many, "loan": _loan}


def _report(me: Life, counter: int, count: int, publish) -> None:
    while True:
        try:
            sequence = publish()
        except slipring.Full:  # on a lossy topic: a reader holds a message a whole ring old
            if count > 1:
                me.journal.write(jn.MAYBE, counter, 0, count)
                return
            os.sched_yield()
            if me.board.stopping:
                return
        else:
            me.journal.write(jn.SENT, counter, sequence, count)
            me.beat()
            return


def reader(take: str, settings: dict, **life) -> None:
    me = Life(**life)
    if isinstance(settings.get("types"), list):
        settings["types"] = tuple(settings["types"])
    with me.bus.subscriber(me.topic, **settings) as sub:
        me.journal.write(jn.START, sub.position)
        while True:
            records = _TAKE[take](me, sub)
            if records:
                records[-1] = (*records[-1][:4], sub.lost)
                me.journal.write_all(records)
                me.beat()
            elif me.board.reached_end(sub.position):
                break
            if "cursor" in settings and (not records or me.random.random() < 0.2):
                me.journal.write(jn.INTENT, sub.position)
                sub.commit()
                me.journal.write(jn.COMMIT, sub.position)
        me.journal.write(jn.END, sub.received, sub.lost, sub.filtered, sub.position)


def _recv(me: Life, sub) -> list[tuple]:
    message = sub.recv(timeout=POLL_S)
    return [] if message is None else [me.row(message)]


def _recv_many(me: Life, sub) -> list[tuple]:
    return [me.row(message) for message in sub.recv_many(me.random.randrange(1, 40), timeout=POLL_S)]


def _recv_batch(me: Life, sub) -> list[tuple]:
    batch = sub.recv_batch(me.random.randrange(1, 40), timeout=POLL_S)
    return [me.row(_Message(me.topic, *row.values())) for row in batch.select(_COLUMNS).to_pylist()]


_COLUMNS = ["offset", "sender", "type", "value"]


@dataclass
class _Message:
    """A row of a batch."""

    topic: str
    seq: int
    sender: str
    type: str
    body: bytes


def _recv_into(me: Life, sub) -> list[tuple]:
    message = sub.recv_into(bytearray(1 << 16), timeout=POLL_S)
    return [] if message is None else [me.row(message)]


def _view(me: Life, sub) -> list[tuple]:
    def later() -> bytes:
        for _ in range(me.random.randrange(4)):
            os.sched_yield()
        return bytes(message.body)

    with sub.view(timeout=POLL_S) as message:
        return [] if message is None else [me.row(message, again=later)]


def _wait(me: Life, sub) -> list[tuple]:
    ready = slipring.wait([sub], timeout=POLL_S)
    message = sub.recv(timeout=0) if ready else None
    return [] if message is None else [me.row(message)]


_TAKE = {
    "recv": _recv,
    "recv_many": _recv_many,
    "recv_batch": _recv_batch,
    "recv_into": _recv_into,
    "view": _view,
    "wait": _wait,
}


def metronome(board_path: str, seat: int) -> None:
    """Beats without Slipring: what it waits is the machine's doing."""
    pulse = Pulse(Board(board_path), seat)
    while True:
        time.sleep(0.001)
        pulse.beat()


def member(**life) -> None:
    """Sends and receives on one topic; its own messages are hidden from it."""
    me = Life(**life)
    with me.bus.join(me.topic, me.sender) as both:
        me.journal.write(jn.START, both.subscriber.position)
        while not me.board.stopping:
            _send(me, both)
            _take_all(me, both, timeout=0)
        me.journal.write(jn.QUIET)
        while not (me.board.reached_end(both.subscriber.position) and both.lag == 0):
            _take_all(me, both, timeout=POLL_S)
        me.journal.write(jn.END, both.received, both.lost, both.filtered, both.subscriber.position)


def _take_all(me: Life, both, timeout: float) -> None:
    records = [me.row(message) for message in both.recv_many(100, timeout=timeout)]
    if records:
        me.journal.write_all(records)
