# SPDX-License-Identifier: Apache-2.0
"""Reads samples one by one. With nap_s it is too slow for its ring: lapped, and told what it lost."""

import time

from demo.roles.part import Part
from demo.roles.reading import Reading


def play(part: Part) -> None:
    nap_s = part.seat.options.get("nap_s", 0.0)
    with part.bus.subscriber(part.topic, start="oldest" if nap_s else "new") as subscriber:
        reading = Reading(part, subscriber)
        while True:
            message = subscriber.recv(timeout=0 if part.ending else 0.1)
            if message is not None:
                reading.took([message])
            elif part.ending:
                break
            if nap_s and not part.ending:
                time.sleep(nap_s)
        reading.done()
