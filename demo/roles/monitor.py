# SPDX-License-Identifier: Apache-2.0
"""Waits for all topics at once, and receives only the newest message of each; skipped ones count as filtered."""

import slipring
from demo.roles.publishing import component, journal_received
from storm.worker import Pace, Reading, Worker


def run(worker: dict) -> None:
    me = Worker(**worker)
    pace = Pace(component(me).period_s)
    subscribers = [me.bus.subscriber(topic, lossy=True, conflate=True) for topic in component(me).topics]
    readings = {subscriber: Reading(me, subscriber) for subscriber in subscribers}
    while not me.ending:
        pace.wait()
        for ready in slipring.wait(subscribers, timeout=0.1):
            assert isinstance(ready, slipring.Subscriber)
            journal_received(readings[ready], ready.recv_many(1, timeout=0))
    for subscriber, reading in readings.items():
        journal_received(reading, subscriber.recv_many(1, timeout=0))
        reading.end()
