# SPDX-License-Identifier: Apache-2.0
"""A publisher of a soak: single messages, batches and loans, some given up, at a steady pace until told to stop."""

from demo.journal import Kind
from demo.roles.part import Pace

import slipring
from soak import bodies, cast
from soak.life import Life

_MOST_IN_A_BATCH = 6
_ABORTED = 0.05


class _GiveUpError(Exception):
    pass


class _Publisher:
    def __init__(self, me: Life, pub) -> None:
        self._me, self._pub, self._counter = me, pub, 0

    def _next(self) -> int:
        self._counter += 1
        return bodies.identity(self._me.incarnation, self._counter)

    def _size(self, smallest: int) -> int:
        return bodies.size(self._me.random, cast.LARGEST_BYTES, smallest)

    def send(self) -> None:
        who = self._next()
        seq = self._pub.send(bodies.make(who, self._size(0)), type="one")
        self._sent(seq, who, 1)

    def send_many(self) -> None:
        whos = [self._next() for _ in range(self._me.random.randrange(1, _MOST_IN_A_BATCH))]
        batch = [bodies.make(who, self._size(bodies.SMALLEST_WHOLE)) for who in whos]
        self._sent(self._pub.send_many(batch, type="many"), whos[-1], len(whos))

    def loan(self) -> None:
        who = self._next()
        size = self._size(bodies.SMALLEST_WHOLE)
        lent = self._pub.loan(size, type="lent")
        try:
            with lent as view:
                view[:] = bodies.make(who | bodies.POISON, size)
                if self._me.random.random() < _ABORTED:
                    raise _GiveUpError
                view[:] = bodies.make(who, size)
        except _GiveUpError:
            self._me.journal.write(Kind.ABORTED, self._me.topic, 0, who)
        else:
            self._sent(lent.seq, who, 1)

    def _sent(self, seq: int, last: int, count: int) -> None:
        self._me.journal.write(Kind.SENT, self._me.topic, seq, last, count)

    def skipped(self) -> None:
        """Refused on a lossy topic, because a reader holds a message a whole ring old; some of a batch may be sent."""
        self._me.journal.write(Kind.SKIPPED, self._me.topic)


def publish(ways: list[str], **life) -> None:
    me = Life(**life)
    pace = Pace(cast.PERIOD_S)
    with me.bus.publisher(me.topic_name, sender=me.sender) as pub:
        publisher = _Publisher(me, pub)
        me.journal.write(Kind.HELLO)
        while not me.board.stopping:
            pace.wait()
            try:
                getattr(publisher, me.random.choice(ways))()
            except slipring.Full:
                publisher.skipped()
            me.beat()
