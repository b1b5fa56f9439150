# SPDX-License-Identifier: Apache-2.0
"""What every role has in hand: the bus, the journal, the orders given so far, a pace to keep."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import slipring
from demo import bodies, cast
from demo.journal import Journal, Kind


@dataclass
class Part:
    bus: slipring.Bus
    journal: Journal
    seat: cast.Seat
    incarnation: int
    counter: int = 0
    quiet: bool = False  # ordered: send no more
    ending: bool = False  # ordered: read to the end, then leave

    @property
    def topic(self) -> str:
        return self.seat.topics[0]

    def next_identity(self) -> int:
        self.counter += 1
        return bodies.identity(self.incarnation, self.counter)

    def sent(self, seq: int | None, identity: int) -> None:
        assert seq is not None
        self.journal.write(Kind.SENT, cast.TOPIC_NAMES.index(self.topic), seq, identity)


def publish(part: Part, type: str, payload: Callable[[int], bytes]) -> None:
    """One message a period, until told to be quiet; payload gets its number."""
    pace = Pace(part.seat.period_s)
    with part.bus.publisher(part.topic, sender=part.seat.name) as publisher:
        while not part.quiet:
            pace.wait()
            identity = part.next_identity()
            body = bodies.make(identity, payload(part.counter))
            part.sent(publisher.send(body, type=type), identity)


class Pace:
    """A tick every period_s; ticks missed by being paused are skipped, not made up for."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._next = time.monotonic()

    def left_s(self) -> float:
        """Until the next tick; not above 0: it is due."""
        return self._next - time.monotonic()

    def tick(self) -> None:
        """The tick is taken: the next one comes a period later."""
        self._next = max(self._next + self._period_s, time.monotonic())

    def wait(self) -> None:
        self.tick()
        left_s = self.left_s()
        if left_s > 0:
            time.sleep(left_s)
