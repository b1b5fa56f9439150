# SPDX-License-Identifier: Apache-2.0
"""What can be on a bus: for each kind its files, and how to look at it, check it, clear and remove it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .cells import store as cells_store
from .frames import streams as frame_streams
from .native import _native


def _never_half(path: str, name: str, repair: bool) -> bool:
    return False


class Kind(NamedTuple):
    noun: str
    suffixes: tuple[str, ...]  # of its files, the main one first: where that is, the thing is
    remove: Callable[[str, str], None]
    stats: Callable[[str, str], dict[str, Any]]
    verify: Callable[[str, str], Any]  # raises what is wrong
    sweep: Callable[[str, str], int]  # what the dead left
    users: tuple[str, ...]  # the lists in stats of those who are, or were, there
    mend: Callable[[str, str, bool], bool] = (
        _never_half  # whether files are missing; with repair, removes the rest
    )


TOPIC = Kind(
    "topic",
    ("ring", "readers", *frame_streams.SUFFIXES),
    _native.topic_remove,
    _native.topic_stats,
    frame_streams.verify,
    _native.topic_sweep,
    ("publishers", "readers"),
    _native.topic_repair,
)
CELLS = Kind(
    "cells",
    ("cells",),
    _native.cells_remove,
    cells_store.stats,
    _native.cells_stats,
    _native.cells_sweep,
    ("writers", "readers"),
)
KINDS = (TOPIC, CELLS)

_NAME = r"([A-Za-z0-9_][A-Za-z0-9_.-]{0,99})"
_MAIN_FILE = rf"{_NAME}\.({'|'.join(kind.suffixes[0] for kind in KINDS)})"


def contents(files: list[str]) -> dict[str, Kind]:
    """Name and kind of everything whose main file is among the files."""
    by_suffix = {kind.suffixes[0]: kind for kind in KINDS}
    main_file = re.compile(_MAIN_FILE)  # at the first use: a process that publishes lists nothing
    matches = filter(None, map(main_file.fullmatch, files))
    return {name: by_suffix[suffix] for name, suffix in sorted(match.groups() for match in matches)}


def kind_of(path: str, name: str) -> Kind:
    """The kind of a checked name; that of topics if there is nothing of that name."""
    others = (kind for kind in KINDS if os.path.lexists(os.path.join(path, f"{name}.{kind.suffixes[0]}")))
    return next(others, TOPIC)
