# SPDX-License-Identifier: Apache-2.0
"""Does a publisher pay for subscribers that do not keep up? ns per send with 0 to 64 of them attached.

``idle`` ones never read; ``slow`` ones take a few messages every 5 ms, and are overrun in between.
"""

import time
from itertools import repeat
from statistics import median
from time import perf_counter_ns

from slipring.bench.case import Case
from slipring.bench.processes import ControlLine, in_two_processes
from slipring.bench.transport import Transport

TITLE = "Publisher's cost of one send in front of many subscribers"
FIGURE = "ns_per_send"
SIZE = 64
COUNTS = (0, 1, 4, 16, 64)
BLOCK = 2000
PAUSE_S = 0.005


def cases(quick: bool) -> list[Case]:
    counts = (0, 64) if quick else COUNTS
    asked = [
        ("slipring-lossy", "idle"),
        ("slipring-lossy", "slow"),
        ("pyzmq-pubsub", "idle"),
        ("iceoryx2-overflow", "idle"),
    ]
    # Nobody can be slow when nobody is there.
    return [
        Case("publisher_cost", name, {"state": state, "subscribers": count})
        for count in counts
        for name, state in (asked[:2] if quick else asked)
        if count or state == "idle"
    ]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> dict[str, float]:
    count, state = case.settings["subscribers"], case.settings["state"]
    transport = kind(place, SIZE)

    def publish(line: ControlLine) -> dict[str, float]:
        line.meet()
        send = transport.publisher("there", count)
        body = bytes(range(SIZE))
        blocks: list[float] = []
        begun = time.monotonic()
        # The first part warms up and is thrown away.
        while (spent := time.monotonic() - begun) < seconds * 1.3:
            start = perf_counter_ns()
            for _ in repeat(None, BLOCK):
                send(body)
            if spent > seconds * 0.3:
                blocks.append((perf_counter_ns() - start) / BLOCK)
        line.meet()
        transport.close()
        return {FIGURE: median(blocks), "best_block_ns": min(blocks), "messages": len(blocks) * BLOCK}

    def attend(line: ControlLine) -> None:
        take_a_few = transport.slow_subscribers("there", count)
        line.meet()
        end = time.monotonic() + seconds * 1.3
        while state == "slow" and time.monotonic() < end:
            take_a_few()
            time.sleep(PAUSE_S)
        line.meet()
        transport.close()

    return in_two_processes(publish, attend, apart=not transport.threads_of_its_own)
