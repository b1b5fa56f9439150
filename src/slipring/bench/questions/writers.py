# SPDX-License-Identifier: Apache-2.0
"""Do many writers on one topic get in each other's way? Messages of 64 B a second from 1 to 16 of them together, and
the slowest one's share: 1.0 is as much as everybody's mean.

One subscriber takes lists of messages meanwhile, as fast as it can. Processes are where the scheduler puts them: with
more of them than processors there is no other place. A lossy topic refuses a send when another writer has been without
a processor between claim and commit for a whole ring; ``refused`` counts these.
"""

import os
from itertools import repeat
from select import select
from time import monotonic

import slipring
from slipring.bench.case import Case
from slipring.bench.processes import ControlLine, Workers
from slipring.bench.transport import Transport

TITLE = "Many writers on one topic"
FIGURE = "messages_per_s"
FURTHER_FIGURES = ("slowest_share",)
SIZE = 64
WRITERS = (1, 2, 4, 8, 16)
NAMES = ("slipring", "slipring-lossy")
BLOCK = 100  # messages between two readings of the clock
TAKEN = 4096  # messages of one recv_many
LONGER = 2  # times the usual phase, for everybody to have had several turns of a processor


def cases(quick: bool) -> list[Case]:
    numbers = (1, 8) if quick else WRITERS
    names = NAMES[:1] if quick else NAMES
    return [Case("writers", name, {"writers": number}) for name in names for number in numbers]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> dict[str, float]:
    number = case.settings["writers"]
    transport = kind(place, SIZE)

    def write(line: ControlLine) -> None:
        send = transport.sender("there")
        line.meet()
        begin = line.hear()
        while monotonic() < begin:
            pass
        line.tell(_send_for(send, begin, LONGER * seconds))
        transport.close()

    with Workers() as workers, slipring.Bus("bench", root=place) as bus:
        subscriber = bus.subscriber("there")
        lines = [workers.start(write) for _ in range(number)]
        for line in lines:
            line.meet()
        begin = monotonic() + 0.05
        for line in lines:
            line.tell(begin)
        while len(select([line.reading for line in lines], [], [], 0)[0]) < number:
            subscriber.recv_many(TAKEN, timeout=0.01)
        reports = [line.hear() for line in lines]
    transport.close()
    rates = [count / taken for count, taken, _ in reports]
    return {
        FIGURE: sum(rates),
        "slowest_share": min(rates) * number / sum(rates),
        "messages": sum(count for count, _, _ in reports),
        "refused": sum(refused for _, _, refused in reports),
    }


def _send_for(send, begin: float, seconds: float) -> tuple[int, float, int]:
    """Messages, the seconds they took, and how many were refused."""
    body, count, refused = bytes(range(SIZE)), 0, 0
    while (now := monotonic()) < begin + seconds:
        try:
            for _ in repeat(None, BLOCK):
                send(body)
                count += 1
        except slipring.Full:
            refused += 1
            os.sched_yield()
    return count, now - begin, refused
