# SPDX-License-Identifier: Apache-2.0
"""Outboxes of crashed jobs (outbox.py): findings about them, and their removal.

Staged rows of a crashed job are useless: the job stages them again when it continues. A batch that was begun and not
finished stays, for the job that continues. The progress of a job is kept as long as one of its topics has the
generation it had.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from slipring.errors import Corrupt

from .. import directory
from . import process_identity
from .origin import lock, origins
from .outbox import BRIEF, Outbox, directory_of

Finding = tuple[str, str, str]  # job, problem, action


def examine(bus_path: str, generation: Callable[[str], str], repair: bool) -> list[Finding]:
    """Return the findings of a bus; generation(topic) is the present one of a topic, or empty."""
    findings = [_examine(Outbox(bus_path, job), generation, repair) for job in _jobs(bus_path)]
    return [finding for finding in findings if finding]


def _jobs(bus_path: str) -> list[str]:
    return directory.listed(directory_of(bus_path))


def clear_brief(bus_path: str) -> None:
    """Remove the outboxes of crashed jobs that are never continued."""
    for job in _jobs(bus_path):
        if job.startswith(BRIEF):
            _examine(Outbox(bus_path, job), lambda topic: "", repair=True)


def _examine(outbox: Outbox, generation: Callable[[str], str], repair: bool) -> Finding | None:
    path = os.path.join(outbox.path, "lock")
    try:
        descriptor = lock(path)
    except (BlockingIOError, FileNotFoundError, NotADirectoryError):
        return None  # another process uses it
    try:
        if process_identity.is_alive(os.pread(descriptor, 4096, 0).decode(errors="replace")):
            return None
        return _examine_dead(outbox, generation, repair)
    finally:
        os.close(descriptor)


def _examine_dead(outbox: Outbox, generation: Callable[[str], str], repair: bool) -> Finding | None:
    try:
        begun = None if outbox.job.startswith(BRIEF) else outbox.begun()
    except Corrupt as error:
        return outbox.job, str(error), "left alone"
    if begun is not None:
        rows = sum(part.rows for part in begun.parts)
        problem = f"batch {begun.number} of a dead Spark query, {rows} rows, is published in part"
        return outbox.job, problem, f"start the query again, or remove '{outbox.path}'"
    if outbox.job.startswith(BRIEF) or not _has_topic(outbox, generation):
        if repair:
            outbox.remove()
        return outbox.job, "files of a dead Spark job", "removed" if repair else "removed with repair"
    if outbox.parts():
        if repair:
            for name in outbox.parts():
                outbox.drop(name)
        return outbox.job, "staged rows of a dead Spark query", "removed" if repair else "removed with repair"
    return None


def _has_topic(outbox: Outbox, generation: Callable[[str], str]) -> bool:
    known = [about for about in origins(outbox.path) if "generation" in about]
    return any(about["generation"] == generation(about["topic"]) for about in known)
