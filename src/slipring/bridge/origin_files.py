# SPDX-License-Identifier: Apache-2.0
"""The origin files of a bridge: how far each origin was published. `tidy` removes those that are no longer needed."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from slipring._bus.bus import Bus
from slipring._bus.exactly_once.origin import Origin, Progress, lock, origins
from slipring._bus.logs import logger
from slipring.errors import SlipringError, TopicNotFound

log = logger("bridge")

__all__ = ["Origin", "Progress", "directory_of", "origins", "tidy"]


def directory_of(bus: Bus, state: str | None = None) -> str:
    """Return the directory of a bus's origin files: beside the bus, unless `state` names another one."""
    return os.path.join(state or os.path.join(bus.root, ".bridge"), bus.name)


def tidy(bus: Bus, directory: str | None = None, is_old: Any = None) -> None:
    """Remove the files of origins whose topic no longer exists, and of those that is_old(about, mtime_s) selects."""
    directory = directory or directory_of(bus)
    generations: dict[str, str | None] = {}
    for about in origins(directory):
        topic = about.get("topic", "")
        topic = topic if isinstance(topic, str) else ""
        with contextlib.suppress(OSError):
            path = os.path.join(directory, about["file"])
            if topic not in generations:
                generations[topic] = _generation(bus, topic)
            stale = generations[topic] not in (None, about.get("generation"))
            if stale or (is_old is not None and is_old(about, os.stat(path).st_mtime)):
                descriptor = lock(path)
                os.unlink(path)
                os.close(descriptor)
    parent = os.path.dirname(directory)
    for folder in (directory, parent) if os.path.basename(parent) == ".bridge" else (directory,):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _generation(bus: Bus, topic: str) -> str | None:
    """Return the generation; empty for a missing topic; None for an unreadable one, whose origins stay."""
    try:
        return str(bus.stats(topic)["generation"]) if topic else ""
    except TopicNotFound:
        return ""
    except SlipringError as error:
        log.warning("topic %r of bus %r cannot be used: %s: %s", topic, bus.name, type(error).__name__, error)
        return None
