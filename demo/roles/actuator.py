# SPDX-License-Identifier: Apache-2.0
"""Carries out each command at least once: receive, journal, handle, commit.

The cursor outlives the process. After a kill before the commit, the next process receives the same command again. After
a kill behind the commit, it receives the next command. Nothing is skipped.
"""

import time

from demo import robot
from demo.roles.publishing import journal_received
from storm.journal import Kind
from storm.worker import Reading, Worker

_WORK_S = 0.002


def run(worker: dict) -> None:
    me = Worker(**worker)
    with me.bus.subscriber(me.topic, start="oldest", cursor=robot.CURSOR) as subscriber:
        reading = Reading(me, subscriber)
        while True:
            ending = me.ending
            message = subscriber.recv(timeout=0 if ending else 0.1)
            if message is None:
                if ending:
                    break
                continue
            journal_received(reading, [message])
            me.write(Kind.HANDLED, message.seq)
            time.sleep(_WORK_S)  # the motor turns; after a kill at this point the command is received again
            reading.commit()
        reading.end()
