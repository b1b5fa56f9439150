# SPDX-License-Identifier: Apache-2.0
"""`_held/`: second names (hard links) of files that somebody of ours may be reading.

Other programs list `messages/`, so a file that was replaced must not be there any more. Our own readers have planned
with its path, or are about to. So they read by the second name, which stays until the file is cleared.

    hold   before Spark plans with a file, and before a compaction takes its name in `messages/` away
    hide   after the compaction's commit, and again by whoever opens a lake whose compaction died
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import kill_points as places
from .errors import fault

if TYPE_CHECKING:
    from pathlib import Path

    from .directory import Lake

DIRECTORY = "_held"


def place_of(path: str) -> str:
    """The second name of a file of the recording; both are relative to the lake."""
    return f"{DIRECTORY}/{path.removeprefix('messages/')}"


def hold(lake: Lake, path: str) -> Path:
    """Give a file its second name, unless it has it; FileNotFoundError when the file is gone."""
    target = lake.path / place_of(path)
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    lake.check_inside(target)
    try:
        os.link(lake.path / path, target, follow_symlinks=False)
    except FileExistsError:
        return target  # another process was faster
    places.reached("file held")
    return target


def hide(lake: Lake, path: str) -> None:
    """Take a replaced file out of `messages/`; it stays held until it is cleared."""
    try:
        lake.check_inside(lake.path / path)
        hold(lake, path)
        os.unlink(lake.path / path)
    except FileNotFoundError:
        return  # another process was faster
    except OSError as error:
        raise fault(error, lake.path / path) from error
    places.reached("file hidden")
