# SPDX-License-Identifier: Apache-2.0
"""The questions, in the order they are asked. Each module has TITLE, FIGURE, cases() and measure().

FURTHER_FIGURES are more columns of its table, NEEDS packages that our extras bring. A question that only floors answer
has no measure().
"""

from types import ModuleType

from slipring.bench.questions import (
    asyncio_recv,
    bandwidth,
    batches,
    calls,
    cells,
    fanout,
    filled_frames,
    frames,
    growth,
    idle,
    in_place,
    memory,
    publisher_cost,
    ring_size,
    round_trip,
    startup,
    throughput,
    under_load,
    waiting,
    writers,
)

QUESTIONS: dict[str, ModuleType] = {
    "throughput": throughput,
    "batches": batches,
    "in_place": in_place,
    "round_trip": round_trip,
    "under_load": under_load,
    "asyncio": asyncio_recv,
    "waiting": waiting,
    "idle": idle,
    "fanout": fanout,
    "writers": writers,
    "calls": calls,
    "cells": cells,
    "publisher_cost": publisher_cost,
    "ring_size": ring_size,
    "growth": growth,
    "memory": memory,
    "startup": startup,
    "frames": frames,
    "filled_frames": filled_frames,
    "bandwidth": bandwidth,
}
# What a quick run asks unless told: enough to know a machine by.
QUICK = ("throughput", "batches", "in_place", "round_trip", "fanout", "writers", "calls", "idle", "bandwidth")
