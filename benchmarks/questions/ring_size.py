# SPDX-License-Identifier: Apache-2.0
"""Does a receive cost more in a larger ring? ns per recv of 64 B, for rings from 64 KiB to 256 MiB.

``following``: the reader is right behind the writer. ``backlog``: it reads a full ring from its oldest
message, which a large ring keeps in memory rather than in cache. One process does both sides, so that only
the receive is timed.
"""

import time
from itertools import repeat
from statistics import median
from time import perf_counter_ns

from slipring.bench.case import Case
from slipring.bench.transport import Transport

TITLE = "Cost of one receive as the ring grows"
FIGURE = "ns_per_recv"
SIZE = 64
CAPACITIES = tuple(1024 * kib for kib in (64, 1024, 16384, 262144))
BURST = 100


def cases(quick: bool) -> list[Case]:
    capacities = (CAPACITIES[0], CAPACITIES[-1]) if quick else CAPACITIES
    return [
        Case("ring_size", "slipring-lossy", {"mode": mode, "capacity": capacity})
        for capacity in capacities
        for mode in ("following", "backlog")
    ]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> dict[str, float]:
    import slipring

    with slipring.Bus("bench", root=place) as bus:
        publisher = bus.publisher("ring", capacity=case.settings["capacity"], delivery="lossy")
        subscriber = bus.subscriber("ring")
        go_round_once(publisher, subscriber, case.settings["capacity"])
        receive = following if case.settings["mode"] == "following" else backlog
        costs = receive(publisher, subscriber, seconds)
        return {FIGURE: median(costs), "best_burst_ns": min(costs), "messages": len(costs) * BURST}


def go_round_once(publisher, subscriber, capacity: int) -> None:
    """Fill the ring and touch all of it as a reader: first-time page faults are not the question."""
    bodies = [bytes(range(SIZE))] * 1000
    for _ in range(capacity // (SIZE * len(bodies)) + 1):
        publisher.send_many(bodies)
        subscriber.recv_many(len(bodies))


def timed_burst(recv) -> float:
    start = perf_counter_ns()
    for _ in repeat(None, BURST):
        recv()
    return (perf_counter_ns() - start) / BURST


def following(publisher, subscriber, seconds: float) -> list[float]:
    bodies = [bytes(range(SIZE))] * BURST
    subscriber.seek("new")
    costs: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        publisher.send_many(bodies)
        costs.append(timed_burst(subscriber.recv))
    # The first tenth warms up.
    return costs[len(costs) // 10 :]


def backlog(_publisher, subscriber, seconds: float) -> list[float]:
    costs: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if subscriber.lag < BURST:
            subscriber.seek("oldest")
        costs.append(timed_burst(subscriber.recv))
    return costs[len(costs) // 10 :]
