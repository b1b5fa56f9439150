# SPDX-License-Identifier: Apache-2.0
"""Do a send and a receive cost more when more messages lie unread, or when more readers are attached? ns of each.

One process does both sides, so that only the call is timed, and a reliable topic, so that nothing is overrun.
``backlog``: the reader stays this many messages behind; a long one is read from memory rather than from cache, as any
would be. ``readers``: as many subscribers take everything; the receive is one's. What subscribers cost that do not
keep up is publisher_cost.py, what a larger ring costs ring_size.py.
"""

import time
from itertools import repeat
from statistics import median
from time import perf_counter_ns
from typing import Any

from slipring.bench.case import Case
from slipring.bench.processes import Figures
from slipring.bench.transport import Transport

TITLE = "Cost of a send and a receive as backlog and readers grow"
FIGURE = "ns_per_send"
FURTHER_FIGURES = ("ns_per_recv",)
SIZE = 64
# Room for the longest backlog; for readers a small one, since each of them maps it.
ROOM: dict[str, dict[str, Any]] = {
    "backlog": {"capacity": 64 << 20, "slots": 1 << 18},
    "readers": {"capacity": 1 << 20},
}
COUNTS = {"backlog": (0, 100, 10_000, 200_000), "readers": (1, 4, 16, 64)}
BURST = 100


def cases(quick: bool) -> list[Case]:
    return [
        Case("growth", "slipring", {"grows": what, "count": count})
        for what, counts in COUNTS.items()
        for count in ((counts[0], counts[-1]) if quick else counts)
    ]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> Figures:
    import slipring

    grows, count = case.settings["grows"], case.settings["count"]
    with slipring.Bus("bench", root=place) as bus:
        publisher = bus.publisher("ring", delivery="reliable", **ROOM[grows])
        readers = [bus.subscriber("ring") for _ in range(count if grows == "readers" else 1)]
        behind = count if grows == "backlog" else 0
        publisher.send_many([bytes(range(SIZE))] * behind)
        sends, receives = bursts(publisher, readers, seconds)
        for reader in readers:
            if reader.lag != behind or reader.lost:
                raise AssertionError(f"{reader.lag} behind instead of {behind}, {reader.lost} lost")
    # The first tenth warms up.
    kept = slice(len(sends) // 10, None)
    return {
        FIGURE: median(sends[kept]),
        "ns_per_recv": median(receives[kept]),
        "messages": len(sends) * BURST,
    }


def bursts(publisher, readers: list, seconds: float) -> tuple[list[float], list[float]]:
    body, send, recv = bytes(range(SIZE)), publisher.send, readers[0].recv
    sends: list[float] = []
    receives: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = perf_counter_ns()
        for _ in repeat(None, BURST):
            send(body)
        between = perf_counter_ns()
        for _ in repeat(None, BURST):
            recv()
        sends.append((between - start) / BURST)
        receives.append((perf_counter_ns() - between) / BURST)
        for reader in readers[1:]:
            reader.recv_many(BURST)
    return sends, receives
