# SPDX-License-Identifier: Apache-2.0
"""The hot paths take the committed number of instructions (counts.toml), no allocation and no system call a message.

tests/prove/test_speed_guard.py shows that an added instruction loop, allocation or system call is detected.
"""

import os
import tomllib
from pathlib import Path

import pytest

from speed.loops import PARTS
from speed.profile import Cost, measure

COUNTS = Path(__file__).with_name("counts.toml")
MORE = 1.05  # times the committed figure: allows for another version of the compiler
LESS = 0.80  # times the committed figure: below it the figure is out of date and would hide a slow-down
# Arrow's arrays and the list of bodies are made once for each batch of 500; a list of messages grows.
ALLOCATIONS = {"send_many": 0.02, "send_many of buffers": 0.02, "recv_batch": 0.3, "recv_many": 0.05}


def committed() -> dict[str, float]:
    return tomllib.loads(COUNTS.read_text())["instructions"]


def faults(found: dict[str, Cost], figures: dict[str, float]) -> list[str]:
    wrong = []
    for part, cost in found.items():
        figure = figures[part]
        if not LESS * figure <= cost.instructions <= MORE * figure:
            wrong.append(f"{part}: {cost.instructions:.1f} instructions a message, {figure} before")
        if cost.allocations > ALLOCATIONS.get(part, 0.01):
            wrong.append(f"{part}: {cost.allocations:.2f} allocations a message")
        if cost.system_calls > 0.01:
            wrong.append(f"{part}: {cost.system_calls:.2f} system calls a message")
    return wrong


@pytest.mark.timeout(600)
def test_hot_paths_have_the_recorded_costs(tmp_path, bus_root):
    found = measure(tmp_path, bus_root, dict(os.environ))
    for part in PARTS:
        print(
            f"{part}: {found[part].instructions:.1f} instructions, {found[part].allocations:.3f} allocations"
        )
    assert not faults(found, committed())
