# SPDX-License-Identifier: Apache-2.0
"""Watches all topics at once and wants only the newest of each: what is conflated away counts as filtered."""

import slipring
from demo.roles.part import Pace, Part
from demo.roles.reading import Reading


def play(part: Part) -> None:
    pace = Pace(part.seat.period_s)
    subscribers = [part.bus.subscriber(topic, lossy=True, conflate=True) for topic in part.seat.topics]
    readings = {subscriber: Reading(part, subscriber) for subscriber in subscribers}
    while not part.ending:
        pace.wait()
        for ready in slipring.wait(subscribers, timeout=0.1):
            assert isinstance(ready, slipring.Subscriber)
            readings[ready].took(ready.recv_many(1, timeout=0))
    for subscriber, reading in readings.items():
        reading.took(subscriber.recv_many(1, timeout=0))
        reading.done()
