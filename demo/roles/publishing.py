# SPDX-License-Identifier: Apache-2.0
"""What the roles share: publishing at a pace, and writing down what was read."""

from collections.abc import Callable, Iterable

import slipring
from demo import robot
from storm import bodies
from storm.journal import Kind
from storm.worker import Pace, Reading, Worker


def component(me: Worker) -> robot.Component:
    return robot.COMPONENTS[me.name]


def publish(me: Worker, type: str, payload: Callable[[int], bytes]) -> None:
    """One message a period, until told to stop; payload gets its number."""
    pace = Pace(component(me).period_s)
    with me.bus.publisher(me.topic, sender=me.name) as publisher:
        while not me.stopping:
            pace.wait()
            identity = me.next_identity()
            body = bodies.with_payload(identity, payload(me.counter))
            me.write(Kind.SENT, publisher.send(body, type=type), identity)


def took(reading: Reading, messages: Iterable[slipring.Message]) -> None:
    """Check the messages and write them down, with the counters behind them."""
    reading.write(
        [
            reading.received(message.seq, bodies.open_body(message.body), len(message.body))
            for message in messages
        ]
    )
