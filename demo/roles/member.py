# SPDX-License-Identifier: Apache-2.0
"""A member of the chat: receives messages of the two others, not its own, and loses none while it lives."""

import slipring
from demo.roles.publishing import component, journal_received
from storm import bodies
from storm.journal import Kind
from storm.worker import Pace, Reading, Worker


def _listen(member: slipring.Member, reading: Reading, timeout_s: float) -> bool:
    messages = member.recv_many(1 << 16, timeout=timeout_s)
    if messages:
        journal_received(reading, messages)
    return bool(messages)


def run(worker: dict) -> None:
    me = Worker(**worker)
    pace = Pace(component(me).period_s)
    with me.bus.join(me.topic, sender=me.name) as member:
        reading = Reading(me, member.subscriber)
        while not me.stopping:
            identity = me.next_identity()
            words = f"{me.name} greets for the {me.counter}th time".encode()
            me.write(Kind.SENT, member.send(bodies.with_payload(identity, words), type="text"), identity)
            pace.tick()
            while (left_s := pace.left_s()) > 0:
                _listen(member, reading, left_s)
        me.write(Kind.QUIET)
        while not me.ending:
            _listen(member, reading, 0.1)
        while _listen(member, reading, 0):
            pass
        reading.end()
