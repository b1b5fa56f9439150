# SPDX-License-Identifier: Apache-2.0
"""Views clouds in place, without a copy, and holds each for a while, in which it must not change."""

import time

from demo.roles.publishing import journal_received
from storm import bodies
from storm.worker import Reading, Worker

_HOLD_S = 0.005


def run(worker: dict) -> None:
    me = Worker(**worker)
    with me.bus.subscriber(me.topic) as subscriber:
        reading = Reading(me, subscriber)
        while True:
            ending = me.ending
            with subscriber.view(timeout=0 if ending else 0.1) as message:
                if message is not None:
                    journal_received(reading, [message])
                    time.sleep(_HOLD_S)
                    if bodies.open_body(message.body) is None:
                        reading.write([reading.changed(message.seq)])
                elif ending:
                    break
        reading.end()
