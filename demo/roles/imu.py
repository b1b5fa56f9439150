# SPDX-License-Identifier: Apache-2.0
"""An inertial sensor: small messages at 1 kHz, one of two writers of a lossy topic, waiting for nobody."""

import math
import struct

from demo import bodies
from demo.roles.part import Pace, Part

_SAMPLE = struct.Struct("<5d")


def play(part: Part) -> None:
    pace = Pace(part.seat.period_s)
    with part.bus.publisher(part.topic, sender=part.seat.name) as publisher:
        while not part.quiet:
            pace.wait()
            identity = part.next_identity()
            angle = part.counter / 500
            sample = _SAMPLE.pack(math.sin(angle), math.cos(angle), 9.81, angle, 0.0)
            part.sent(publisher.send(bodies.make(identity, sample), type="imu.v1"), identity)
