# SPDX-License-Identifier: Apache-2.0
"""The participants of a storm in C: built once, and what a child of the nursery becomes to play one."""

import os
from pathlib import Path

from support import natives

PROGRAM = "SLIPRING_STORM_PROGRAM"  # in the environment of the nursery


def build(directory: Path) -> None:
    program = directory / "participant"
    natives.build(Path(__file__).parent / "c", program)
    os.environ[PROGRAM] = str(program)


def _options(role: str, config: dict) -> list[str]:
    if role == "publisher":
        return [str(config["largest"]), *config["ways"]]
    if role == "reader":
        settings = config["settings"]
        lossy, conflate = 1 if settings.get("lossy") else -1, int(settings.get("conflate", False))
        (wanted,) = settings.get("types", [""])
        texts = (
            config["take"],
            settings.get("start", "new"),
            lossy,
            conflate,
            settings.get("cursor", ""),
            wanted,
        )
        return [str(text) for text in texts]
    return []


def play(
    role: str,
    config: dict,
    root: str,
    topic: str,
    incarnation: int,
    seat: int,
    board_path: str,
    journal_path: str,
    **_,
) -> None:
    """Never returns; the kernel's order to die with the nursery outlasts exec."""
    program = os.environ[PROGRAM]
    numbers = ["0", str(incarnation), str(seat)]
    arguments = [role, f"{root}/test", topic, *numbers, board_path, journal_path, *_options(role, config)]
    os.execv(program, [program, *arguments])
