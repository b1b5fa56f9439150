# SPDX-License-Identifier: Apache-2.0
"""Reads messages one by one. With nap_s it is too slow for its ring: it loses messages, and counts them."""

import time

from demo.roles.publishing import component, journal_received
from storm.worker import Reading, Worker


def run(worker: dict) -> None:
    me = Worker(**worker)
    nap_s = component(me).options.get("nap_s", 0.0)
    with me.bus.subscriber(me.topic, start="oldest" if nap_s else "new") as subscriber:
        reading = Reading(me, subscriber)
        while True:
            ending = me.ending
            message = subscriber.recv(timeout=0 if ending else 0.1)
            if message is not None:
                journal_received(reading, [message])
            elif ending:
                break
            if nap_s and not ending:
                time.sleep(nap_s)
        reading.end()
