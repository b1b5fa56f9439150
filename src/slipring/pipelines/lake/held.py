# SPDX-License-Identifier: Apache-2.0
"""`_held/`: second names (hard links) of files that a reader of this package may still use.

Other programs list `messages/`, so a replaced file must not stay there. A DataFrame may have planned with its path. So
DataFrames use the second name, which stays until the file is cleared.

    hold   before Spark plans with a file, and before a compaction removes its name in `messages/`
    hide   after the commit of a compaction, and again when a lake is opened whose compaction was killed
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import kill_points
from .errors import fault

if TYPE_CHECKING:
    from pathlib import Path

    from .lake import Lake

DIRECTORY = "_held"


def path_of(path: str) -> str:
    """Return the second name of a file of the recording; both are relative to the lake."""
    return f"{DIRECTORY}/{path.removeprefix('messages/')}"


def hold(lake: Lake, path: str) -> Path:
    """Give a file its second name, unless it has one; FileNotFoundError if the file is gone."""
    target = lake.path / path_of(path)
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    lake.check_inside(target)
    try:
        os.link(lake.path / path, target, follow_symlinks=False)
    except FileExistsError:
        return target  # another process was faster
    kill_points.reached("file held")
    return target


def hide(lake: Lake, path: str) -> None:
    """Remove a replaced file from `messages/`; its second name stays until it is cleared."""
    try:
        lake.check_inside(lake.path / path)
        hold(lake, path)
        os.unlink(lake.path / path)
    except FileNotFoundError:
        return  # another process was faster
    except OSError as error:
        raise fault(error, lake.path / path) from error
    kill_points.reached("file hidden")
