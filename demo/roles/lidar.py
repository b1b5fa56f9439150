# SPDX-License-Identifier: Apache-2.0
"""A laser scanner: clouds of 256 KiB written in place, into memory lent by the ring.

A cloud is filled strip by strip, as a scanner turns, so that many a kill comes in the middle of a loan:
such a cloud must never be seen. One cloud in twelve is given up on purpose; it is marked, and must never be
seen either.
"""

import contextlib
import random
import time

import slipring
from demo import bodies, cast
from demo.journal import Kind
from demo.roles.part import Pace, Part

_STRIPS = 16
_STRIP_S = 0.0003
_GIVE_UP_EVERY = 12
_TEXTURE = random.Random(0).randbytes(2 * cast.CLOUD_BYTES)


class GivenUp(Exception):
    """Ends a loan without a commit."""


def _scan(cloud: memoryview, turn: int) -> None:
    size = len(cloud) - bodies.HEADER_BYTES
    shift = turn * 4096 % cast.CLOUD_BYTES
    step = -(-size // _STRIPS)
    for begin in range(0, size, step):
        end = min(begin + step, size)
        cloud[bodies.HEADER_BYTES + begin : bodies.HEADER_BYTES + end] = _TEXTURE[shift + begin : shift + end]
        time.sleep(_STRIP_S)


def _publish(part: Part, publisher: slipring.Publisher) -> None:
    identity = part.next_identity()
    loan = publisher.loan(cast.CLOUD_BYTES, type="cloud.v1")
    with loan as cloud:
        _scan(cloud, part.counter)
        if part.counter % _GIVE_UP_EVERY == 0:
            bodies.stamp(cloud, identity | bodies.POISON)
            raise GivenUp
        bodies.stamp(cloud, identity)
    part.sent(loan.seq, identity)


def play(part: Part) -> None:
    pace = Pace(cast.CLOUD_S)
    topic = cast.TOPIC_NAMES.index(part.topic)
    with part.bus.publisher(part.topic, sender=part.seat.name) as publisher:
        while not part.quiet:
            pace.wait()
            with contextlib.suppress(GivenUp, slipring.Full):
                _publish(part, publisher)
                continue
            given_up = part.counter % _GIVE_UP_EVERY == 0
            part.journal.write(Kind.ABORTED if given_up else Kind.SKIPPED, topic)
