# SPDX-License-Identifier: Apache-2.0
"""A member of the chat: hears the two others, does not hear itself, and misses nothing while it lives."""

import slipring
from demo import bodies, cast
from demo.journal import Kind
from demo.roles.part import Pace, Part
from demo.roles.reading import Reading


def _listen(member: slipring.Member, reading: Reading, timeout_s: float) -> bool:
    messages = member.recv_many(1024, timeout=timeout_s)
    if messages:
        reading.took(messages)
    return bool(messages)


def play(part: Part) -> None:
    pace = Pace(part.seat.period_s)
    with part.bus.join(part.topic, sender=part.seat.name) as member:
        reading = Reading(part, member.subscriber)
        while not part.quiet:
            identity = part.next_identity()
            words = f"{part.seat.name} says hello for the {part.counter}th time".encode()
            part.sent(member.send(bodies.make(identity, words), type="text"), identity)
            pace.tick()
            while (left_s := pace.left_s()) > 0:
                _listen(member, reading, left_s)
        part.journal.write(Kind.QUIET, cast.TOPIC_NAMES.index(part.topic))
        while not part.ending:
            _listen(member, reading, 0.1)
        while _listen(member, reading, 0):
            pass
        reading.done()
