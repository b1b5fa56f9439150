# SPDX-License-Identifier: Apache-2.0
"""The questions, in the order they are asked. Each module has cases(), measure(), TITLE and FIGURE."""

from types import ModuleType

from benchmarks import batches, calls, cells, frames, publisher_cost, ring_size, round_trip, throughput

QUESTIONS: dict[str, ModuleType] = {
    "throughput": throughput,
    "batches": batches,
    "round_trip": round_trip,
    "calls": calls,
    "cells": cells,
    "publisher_cost": publisher_cost,
    "ring_size": ring_size,
    "frames": frames,
}
