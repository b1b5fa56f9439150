# SPDX-License-Identifier: Apache-2.0
"""Build the workers in C, and run one in place of a process of the fork server."""

import os
from pathlib import Path

from support import core_build

PROGRAM = "SLIPRING_STORM_PROGRAM"  # in the environment of the fork server


def build() -> Path:
    program = core_build.program("shipped", "storm_worker")
    os.environ[PROGRAM] = str(program)
    return program


def _publisher(
    ways: list[str],
    usual: int = 400,
    largest: int = 2048,
    smallest: int = 24,
    aborted: float = 0.1,
    period_s: float = 0.0,
) -> list[object]:
    return [usual, largest, smallest, round(aborted * 1000), round(period_s * 1e9), *ways]


def _reader(
    take: str,
    settings: dict,
    largest: int = 1 << 16,
    account_s: float = 0.0,
    hold_s: float = 0.0,
    commits: float = 0.2,
) -> list[object]:
    (wanted,) = settings.get("types", [""])
    how = (1 if settings.get("lossy") else -1, int(settings.get("conflate", False)))
    times = (round(account_s * 1e9), round(hold_s * 1e9), round(commits * 1000))
    return [take, settings.get("start", "new"), *how, settings.get("cursor", ""), wanted, largest, *times]


def run(worker: dict, role: str, config: dict) -> None:
    """Execute a worker in C. The order to the kernel to end it with the fork server survives exec."""
    program = os.environ[PROGRAM]
    options = {"publisher": _publisher, "reader": _reader}.get(role, lambda: [])(**config)
    os.execv(program, [program, *map(str, [role, *arguments(worker), *options])])


def arguments(worker: dict) -> list[object]:
    """Return the arguments that life_begin (tests/storm/c/life.h) takes."""
    number = worker["topic_number"]
    bus = f"{worker['root']}/{worker['bus_name']}"
    places = (worker["life"], worker["row"], worker["board_path"], worker["journal_path"])
    return [bus, worker["topics"][number], number, *places]
