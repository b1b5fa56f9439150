# SPDX-License-Identifier: Apache-2.0
"""Sends commands on a reliable topic: what it has sent is kept until the actuator has committed past it."""

import struct

from demo import bodies
from demo.roles.part import Pace, Part

_COMMAND = struct.Struct("<Qd")


def play(part: Part) -> None:
    pace = Pace(part.seat.period_s)
    with part.bus.publisher(part.topic, sender=part.seat.name) as publisher:
        while not part.quiet:
            pace.wait()
            identity = part.next_identity()
            command = _COMMAND.pack(part.counter, part.counter % 360)
            part.sent(publisher.send(bodies.make(identity, command), type="turn"), identity)
