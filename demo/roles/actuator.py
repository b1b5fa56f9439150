# SPDX-License-Identifier: Apache-2.0
"""Carries out commands, at least once each: receive, write down, handle, commit.

The cursor outlives the process. Killed before the commit, the next process gets the same command again;
killed after it, the next one goes on behind it. Nothing is skipped.
"""

import time

from demo import robot
from demo.roles.publishing import took
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
            took(reading, [message])
            me.write(Kind.HANDLED, message.seq)
            time.sleep(_WORK_S)  # the motor turns; a kill now, and the command comes again
            reading.commit()
        reading.end()
