# SPDX-License-Identifier: Apache-2.0
"""Reads every topic from the first message to the last, for the audit. It is never killed."""

import slipring
from demo import robot
from demo.roles.publishing import journal_received
from storm.worker import Reading, Worker


def _read_all(reading: Reading) -> bool:
    """Read all messages that are there: small ones by copy, clouds in place."""
    subscriber = reading.subscriber
    if subscriber.topic != "lidar":
        messages = subscriber.recv_many(1024, timeout=0)
        if messages:
            journal_received(reading, messages)
        return bool(messages)
    with subscriber.view(timeout=0) as message:
        if message is not None:
            journal_received(reading, [message])
        return message is not None


def run(worker: dict) -> None:
    me = Worker(**worker)
    subscribers = [me.bus.subscriber(topic, start="oldest", lossy=True) for topic in robot.TOPIC_NAMES]
    readings = {subscriber: Reading(me, subscriber) for subscriber in subscribers}
    while not me.ending:
        for ready in slipring.wait(readings, timeout=0.1):
            assert isinstance(ready, slipring.Subscriber)
            _read_all(readings[ready])
    for reading in readings.values():
        while _read_all(reading):
            pass
        reading.end()
