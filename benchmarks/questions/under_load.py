# SPDX-License-Identifier: Apache-2.0
"""How long until an answer is back while another pair of processes streams 64 B on another topic?

``paced``: 100,000 messages a second in bursts, which leaves the processors room. ``flat-out``: as fast as it goes, so
that four processes share the processors, and a sleeper waits for its turn as well as for its message.
"""

import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat

from slipring.bench.case import Case
from slipring.bench.processes import ControlLine, Figures, Workers
from slipring.bench.questions.round_trip import SIZE, trips
from slipring.bench.transport import Transport

TITLE = "Round trip of 64 B while another pair streams"
FIGURE = "p50_us"
FURTHER_FIGURES = ("p99_us", "p99.9_us", "max_us")
NAMES = ("slipring", "slipring-sleeping", "iceoryx2", "unix-socket", "pyzmq")
BODY, END = bytes(range(SIZE)), bytes(reversed(range(SIZE)))
BURST, PAUSE_S = 100, 0.001


def cases(quick: bool) -> list[Case]:
    names, loads = (NAMES[:2], ("paced",)) if quick else (NAMES, ("paced", "flat-out"))
    return [Case("under_load", name, {"load": load}) for load in loads for name in names]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> Figures:
    transport = kind(place, SIZE, channels=("there", "back", "load"))
    with streaming(transport, paced=case.settings["load"] == "paced"):
        return trips(transport, seconds)


@contextmanager
def streaming(transport: Transport, paced: bool) -> Iterator[None]:
    def receive(line: ControlLine) -> None:
        receive_one = transport.receiver("load")
        line.meet()
        transport.until(receive_one, END)
        transport.close()

    def send(line: ControlLine) -> None:
        send_one = transport.sender("load")
        line.meet()
        while not select.select([line.reading], [], [], 0)[0]:
            for _ in repeat(None, BURST):
                send_one(BODY)
            if paced:
                time.sleep(PAUSE_S)
        send_one(END)
        transport.close()

    with Workers() as workers:
        workers.start(receive).meet()
        sender = workers.start(send)
        sender.meet()
        yield
        sender.tell("enough")
