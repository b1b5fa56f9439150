# SPDX-License-Identifier: Apache-2.0
"""A laser scanner: clouds of 256 KiB written in place, into a loan from the ring.

A cloud is filled strip by strip, like the scan of a turning scanner, so that many kills come in the middle of a loan.
No reader may receive such a cloud. One cloud in twelve is aborted on purpose. It is marked, and no reader may receive
it.
"""

import random
import time

import slipring
from demo import robot
from storm import bodies
from storm.journal import Kind
from storm.worker import Pace, Worker

_STRIPS = 16
_STRIP_S = 0.0003
_ABORT_EVERY = 12
_TEXTURE = random.Random(0).randbytes(2 * robot.CLOUD_BYTES)


class Aborted(Exception):
    """Ends a loan without a commit."""


def _scan(cloud: memoryview, turn: int) -> None:
    size = len(cloud) - bodies.HEADER_BYTES
    shift = turn * 4096 % robot.CLOUD_BYTES
    step = -(-size // _STRIPS)
    for begin in range(0, size, step):
        end = min(begin + step, size)
        cloud[bodies.HEADER_BYTES + begin : bodies.HEADER_BYTES + end] = _TEXTURE[shift + begin : shift + end]
        time.sleep(_STRIP_S)


def _publish(me: Worker, publisher: slipring.Publisher) -> None:
    identity, abort = me.next_identity(), me.counter % _ABORT_EVERY == 0
    try:
        loan = publisher.loan(robot.CLOUD_BYTES, type="cloud.v1")
        with loan as cloud:
            _scan(cloud, me.counter)
            bodies.stamp(cloud, identity | bodies.POISON if abort else identity)
            if abort:
                raise Aborted
        me.write(Kind.SENT, loan.seq or 0, identity)
    except Aborted:
        me.write(Kind.ABORTED, 0, identity)
    except slipring.Full:  # a reader holds the oldest cloud
        me.write(Kind.REFUSED, 0, identity, 1)


def run(worker: dict) -> None:
    me, pace = Worker(**worker), Pace(robot.CLOUD_S)
    with me.bus.publisher(me.topic, sender=me.name) as publisher:
        while not me.stopping:
            pace.wait()
            _publish(me, publisher)
