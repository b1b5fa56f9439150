# SPDX-License-Identifier: Apache-2.0
"""The participants in C: built once a soak, and what a child of the nursery becomes to play one."""

import os
from pathlib import Path

from soak import bodies, cast
from support import natives

PROGRAM, NOISE = "participant", "noise"


def build(work: Path) -> None:
    natives.build(Path(__file__).parent / "c", work / PROGRAM)
    (work / NOISE).write_bytes(bodies.NOISE)


def play(
    how: str, root: str, topic: int, incarnation: int, seat: int, board_path: str, journal_path: str, **_
) -> None:
    """Never returns; the kernel's order to die with the nursery outlasts exec."""
    work = Path(board_path).parent
    bus, numbers = f"{root}/{cast.BUS}", [str(number) for number in (topic, incarnation, seat)]
    arguments = [how, bus, cast.TOPICS[topic], *numbers, board_path, journal_path, str(work / NOISE)]
    os.execv(work / PROGRAM, [PROGRAM, *arguments])
