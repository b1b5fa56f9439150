# SPDX-License-Identifier: Apache-2.0
"""Looks at clouds in place, without a copy, and holds each for a while: it must not change meanwhile."""

import time

from demo import bodies
from demo.roles.part import Part
from demo.roles.reading import Reading

_LOOK_S = 0.005


def play(part: Part) -> None:
    with part.bus.subscriber(part.topic) as subscriber:
        reading = Reading(part, subscriber)
        while True:
            with subscriber.view(timeout=0 if part.ending else 0.1) as message:
                if message is not None:
                    reading.took([message])
                    time.sleep(_LOOK_S)
                    if bodies.open_body(message.body) is None:
                        reading.changed_while_held(message)
                elif part.ending:
                    break
        reading.done()
