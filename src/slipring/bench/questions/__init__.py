# SPDX-License-Identifier: Apache-2.0
"""What is asked of a machine, one module a question, in the order they are asked.

Each has TITLE, FIGURE, cases(quick) and measure(); FURTHER_FIGURES are more columns of its table, NEEDS packages that
our extras bring.
"""

from types import ModuleType

from slipring.bench.questions import (
    bandwidth,
    batches,
    calls,
    fanout,
    idle,
    in_place,
    round_trip,
    throughput,
    writers,
)

QUESTIONS: dict[str, ModuleType] = {
    "throughput": throughput,
    "batches": batches,
    "in_place": in_place,
    "round_trip": round_trip,
    "idle": idle,
    "fanout": fanout,
    "writers": writers,
    "calls": calls,
    "bandwidth": bandwidth,
}
