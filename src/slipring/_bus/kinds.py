# SPDX-License-Identifier: Apache-2.0
"""The kinds of things on a bus, and the functions for each: its files, statistics, check, clearing and removal."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from slipring.errors import SlipringError

from . import directory
from .cells import store as cells_store
from .frames import streams as frame_streams
from .logs import log
from .native import _native


def _never_half(path: str, name: str, repair: bool) -> bool:
    return False


class Kind(NamedTuple):
    noun: str
    suffixes: tuple[str, ...]  # of its files; the thing exists when the first of them does
    remove: Callable[[str, str], None]
    stats: Callable[[str, str], dict[str, Any]]
    verify: Callable[[str, str], Any]  # raises the error of a damaged one
    sweep: Callable[[str, str], int]  # clears the entries of crashed processes
    users: tuple[str, ...]  # the lists in stats of present and crashed users
    find_half: Callable[[str, str, bool], bool] = (
        _never_half  # whether files are missing; with repair, removes the others
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
_TICK_NS = 50_000_000  # more than file systems' clocks need for their next step


def contents(files: list[str]) -> dict[str, Kind]:
    """Return the name and kind of everything whose main file is among the files."""
    by_suffix = {kind.suffixes[0]: kind for kind in KINDS}
    main_file = re.compile(_MAIN_FILE)  # at the first use: a process that publishes lists nothing
    matches = filter(None, map(main_file.fullmatch, files))
    return {name: by_suffix[suffix] for name, suffix in sorted(match.groups() for match in matches)}


def topics(files: list[str]) -> list[str]:
    """Return the names of the topics whose main file is among the files."""
    return [name for name, kind in contents(files).items() if kind is TOPIC]


def kind_of(path: str, name: str) -> Kind:
    """Return the kind of a checked name; that of topics when nothing has the name."""
    others = (kind for kind in KINDS if os.path.lexists(os.path.join(path, f"{name}.{kind.suffixes[0]}")))
    return next(others, TOPIC)


def with_ages(stats: dict[str, Any], now_ns: int) -> dict[str, Any]:
    """Give the cursors of a topic's stats their age and expiry in seconds, instead of points in time."""
    for cursor in stats["cursors"]:
        cursor["age_s"] = max(0.0, (now_ns - cursor.pop("touched_ns")) / 1e9)
        expires_ns = cursor.pop("expires_ns")
        cursor["expires_s"] = expires_ns / 1e9 if expires_ns else None
    return stats


def remove_half(path: str, topic: str) -> None:
    """Remove a reader table without a ring, which a killed creator or remover of the topic has left."""
    if os.path.lexists(os.path.join(path, f"{topic}.readers")):
        with contextlib.suppress(SlipringError):  # not ours to write, or another process creates it just now
            if TOPIC.find_half(path, topic, True):
                log("bus", "info", "half of topic '%s', left by a killed process, was removed", topic)


# Changes of the topics on a bus


def identities(path: str, stamp: object) -> tuple[object, dict[str, int] | None]:
    """Return a stamp for the next call, and the identity of each topic; None when nothing changed since `stamp`."""
    try:
        changed_ns = os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return None, {}
    except OSError as error:
        raise directory.fault(error, path) from error
    if stamp == changed_ns:
        return stamp, None
    names = topics(directory.listed(path))
    found = {name: number for name in names if (number := identity(path, name)) is not None}
    settled = time.time_ns() - changed_ns > _TICK_NS  # else a later change may have the same time
    return (changed_ns if settled else None), found


def identity(path: str, topic: str) -> int | None:
    """Return a number that no other topic of this name has while it is in use; None when there is no such topic."""
    try:
        return os.stat(os.path.join(path, f"{topic}.ring")).st_ino
    except OSError:
        return None
