# SPDX-License-Identifier: Apache-2.0
"""Common to the roles: publish at a pace, and journal received messages."""

from collections.abc import Callable, Iterable

import slipring
from demo import robot
from storm import bodies
from storm.journal import Kind
from storm.worker import Pace, Reading, Worker


def component(me: Worker) -> robot.Component:
    return robot.COMPONENTS[me.name]


def publish(me: Worker, type: str, payload: Callable[[int], bytes]) -> None:
    """Publish one message a period until the order to stop. payload(number) returns its contents."""
    pace = Pace(component(me).period_s)
    with me.bus.publisher(me.topic, sender=me.name) as publisher:
        while not me.stopping:
            pace.wait()
            identity = me.next_identity()
            body = bodies.with_payload(identity, payload(me.counter))
            me.write(Kind.SENT, publisher.send(body, type=type), identity)


def journal_received(reading: Reading, messages: Iterable[slipring.Message]) -> None:
    """Check messages and write them into the journal, followed by the counters."""
    reading.write(
        [
            reading.received(message.seq, bodies.open_body(message.body), len(message.body))
            for message in messages
        ]
    )
