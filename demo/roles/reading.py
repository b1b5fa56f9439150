# SPDX-License-Identifier: Apache-2.0
"""One subscriber whose every message and every count is written down, in one write: GOT … GOT COUNT.

A reading that is killed between the bus call and the write has simply not had its last deed; the account it
wrote before is still exact for the position it names.
"""

import time
from collections.abc import Iterable

import slipring
from demo import bodies, cast
from demo.journal import Kind, Record
from demo.roles.part import Part


class Reading:
    def __init__(self, part: Part, subscriber: slipring.Subscriber) -> None:
        self._journal, self.subscriber = part.journal, subscriber
        self._topic = cast.TOPIC_NAMES.index(subscriber.topic)
        self._journal.write_all([self._account(Kind.START, time.monotonic_ns())])

    def _account(self, kind: Kind, now: int) -> Record:
        stats = self.subscriber.stats()
        return Record(
            kind, self._topic, now, stats["position"], stats["received"], stats["lost"], stats["filtered"]
        )

    def _row(self, message: slipring.Message, now: int) -> Record:
        opened = bodies.open_body(message.body)
        if opened is None:
            return Record(Kind.CORRUPT, self._topic, now, message.seq)
        return Record(Kind.GOT, self._topic, now, message.seq, *opened)

    def took(self, messages: Iterable[slipring.Message]) -> None:
        now = time.monotonic_ns()
        rows = [self._row(message, now) for message in messages]
        self._journal.write_all([*rows, self._account(Kind.COUNT, now)])

    def changed_while_held(self, message: slipring.Message) -> None:
        self._journal.write(Kind.CORRUPT, self._topic, message.seq)

    def done(self) -> None:
        now = time.monotonic_ns()
        self._journal.write_all([self._account(Kind.COUNT, now), Record(Kind.DONE, self._topic, now)])
