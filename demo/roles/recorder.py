# SPDX-License-Identifier: Apache-2.0
"""The witness: a tap on every topic, from the first message to the last. Chaos does not strike it."""

import slipring
from demo import cast
from demo.roles.part import Part
from demo.roles.reading import Reading


def _take(reading: Reading) -> bool:
    """All that is there; small messages by copy, clouds in place."""
    subscriber = reading.subscriber
    if subscriber.topic != "lidar":
        messages = subscriber.recv_many(1024, timeout=0)
        if messages:
            reading.took(messages)
        return bool(messages)
    with subscriber.view(timeout=0) as message:
        if message is not None:
            reading.took([message])
        return message is not None


def play(part: Part) -> None:
    readings = {
        subscriber: Reading(part, subscriber)
        for subscriber in (
            part.bus.subscriber(topic, start="oldest", lossy=True) for topic in cast.TOPIC_NAMES
        )
    }
    while not part.ending:
        for ready in slipring.wait(readings, timeout=0.1):
            assert isinstance(ready, slipring.Subscriber)
            _take(readings[ready])
    for reading in readings.values():
        while _take(reading):
            pass
        reading.done()
