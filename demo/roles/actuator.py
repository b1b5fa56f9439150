# SPDX-License-Identifier: Apache-2.0
"""Carries out commands, at least once each: receive, write down, handle, commit.

The cursor outlives the process. Killed before the commit, the next incarnation gets the same command again;
killed after it, the next one goes on behind it. Nothing is skipped.
"""

import time

from demo import cast
from demo.journal import Kind
from demo.roles.part import Part
from demo.roles.reading import Reading

_WORK_S = 0.002


def play(part: Part) -> None:
    topic = cast.TOPIC_NAMES.index(part.topic)
    with part.bus.subscriber(part.topic, start="oldest", cursor=cast.CURSOR) as subscriber:
        reading = Reading(part, subscriber)
        while True:
            message = subscriber.recv(timeout=0 if part.ending else 0.1)
            if message is None:
                if part.ending:
                    break
                continue
            reading.took([message])
            part.journal.write(Kind.HANDLED, topic, message.seq)
            time.sleep(_WORK_S)  # the motor turns; a kill now, and the command comes again
            subscriber.commit()
            part.journal.write(Kind.COMMITTED, topic, subscriber.position)
        reading.done()
