# SPDX-License-Identifier: Apache-2.0
"""A camera's frames by what is said of them: number, exposure, where the pixels are; small JSON at 30 Hz."""

import json

from demo import bodies
from demo.roles.part import Pace, Part


def play(part: Part) -> None:
    pace = Pace(part.seat.period_s)
    with part.bus.publisher(part.topic, sender=part.seat.name) as publisher:
        while not part.quiet:
            pace.wait()
            identity = part.next_identity()
            frame = {
                "frame": part.counter,
                "exposure_us": 8000 + part.counter % 400,
                "buffer": part.counter % 4,
            }
            body = bodies.make(identity, json.dumps(frame).encode())
            part.sent(publisher.send(body, type="camera.frame"), identity)
