# SPDX-License-Identifier: Apache-2.0
"""A reader of a soak. Every message is checked and written down; its own account as often as it counts a loss, and
once a second; a cursor is committed now and then."""

import time

from demo.journal import Kind, Record

from crash.board import LOST, RECEIVED
from soak import bodies, cast
from soak.life import Life

POLL_S = 0.2  # how often a waiting reader looks at the board
_ACCOUNT_NS = 1_000_000_000
_HELD_LONGER, _LONGEST_HOLD_S = 0.1, 0.02
_COMMITS = 0.05
_AWAKE_S = 0.6  # of a nap


class _Reader:
    def __init__(self, me: Life, sub) -> None:
        self.me, self.sub = me, sub
        self._counted_ns = 0
        self._lost = 0
        self._room = bytearray(cast.LARGEST_BYTES)

    def account(self, kind: Kind) -> Record:
        sub, now = self.sub, time.monotonic_ns()
        return Record(kind, self.me.topic, now, sub.position, sub.received, sub.lost, sub.filtered)

    def _row(self, sender: str, seq: int, body) -> Record:
        who = bodies.check(sender, body)
        now = time.monotonic_ns()
        if who is None:
            return Record(Kind.CORRUPT, self.me.topic, now, seq)
        return Record(Kind.GOT, self.me.topic, now, seq, who, len(body))

    def _rows(self, *messages) -> list[Record]:
        return [self._row(m.sender, m.seq, m.body) for m in messages if m is not None]

    def recv(self) -> list[Record]:
        return self._rows(self.sub.recv(timeout=POLL_S))

    def recv_many(self) -> list[Record]:
        return self._rows(*self.sub.recv_many(200, timeout=POLL_S))

    def recv_into(self) -> list[Record]:
        return self._rows(self.sub.recv_into(self._room, timeout=POLL_S))

    def recv_batch(self) -> list[Record]:
        batch = self.sub.recv_batch(200, timeout=POLL_S)
        columns = (batch.column(name) for name in ("sender", "offset", "value"))
        return [
            self._row(sender.as_py(), seq.as_py(), memoryview(value.as_buffer()))
            for sender, seq, value in zip(*columns, strict=True)
        ]

    def view(self) -> list[Record]:
        with self.sub.view(timeout=POLL_S) as message:
            if message is None:
                return []
            before = self._rows(message)
            if self.me.random.random() < _HELD_LONGER:
                time.sleep(self.me.random.random() * _LONGEST_HOLD_S)
            after = self._rows(message)
            same = before[0][3:] == after[0][3:]
            return before if same else [Record(Kind.CORRUPT, self.me.topic, before[0].time_ns, message.seq)]

    def write_down(self, rows: list[Record]) -> None:
        sub, now = self.sub, time.monotonic_ns()
        if sub.lost != self._lost or now - self._counted_ns > _ACCOUNT_NS:
            rows = [*rows, self.account(Kind.COUNT)]
            self._lost, self._counted_ns = sub.lost, now
            self.me.board.tell(self.me.seat, LOST, sub.lost)
            self.me.board.tell(self.me.seat, RECEIVED, sub.received)
        self.me.journal.write_all(rows)

    def commit(self) -> None:
        self.sub.commit()
        self.me.journal.write(Kind.COMMITTED, self.me.topic, self.sub.position)


def read(take: str, settings: dict, nap_s: float = 0.0, **life) -> None:
    me = Life(**life)
    with me.bus.subscriber(me.topic_name, **settings) as sub:
        reader = _Reader(me, sub)
        me.journal.write_all([reader.account(Kind.START)])
        awake_until = time.monotonic() + nap_s * _AWAKE_S
        while True:
            rows = getattr(reader, take)()
            if rows:
                reader.write_down(rows)
                me.beat()
            elif me.board.reached_end(sub.position, me.topic):
                break
            if "cursor" in settings and (not rows or me.random.random() < _COMMITS):
                reader.commit()
            if nap_s and time.monotonic() > awake_until:
                _nap(me, nap_s)
                awake_until = time.monotonic() + nap_s * _AWAKE_S
        me.journal.write_all([reader.account(Kind.COUNT), Record(Kind.DONE, me.topic, time.monotonic_ns())])


def _nap(me: Life, nap_s: float) -> None:
    """Until the ring has gone round without it."""
    end = time.monotonic() + nap_s
    while time.monotonic() < end and not me.board.stopping:
        time.sleep(POLL_S)
