# SPDX-License-Identifier: Apache-2.0
"""The counters of every topic at one moment, and the differences between two moments."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import slipring
from slipring.cli.terminal import process_exit
from slipring.units import printable

Stats = Mapping[str, Any]


@dataclass(frozen=True)
class Survey:
    """``topics`` and ``others`` that could be read, and the ``problems`` of those that could not."""

    taken_s: float
    time_ns: int
    topics: dict[str, Stats]
    problems: dict[str, str]
    others: dict[str, Stats] = field(default_factory=dict)


def survey(bus: slipring.Bus) -> Survey:
    """Read all counters; topics that are removed meanwhile are left out."""
    topics: dict[str, Stats] = {}
    others: dict[str, Stats] = {}
    problems: dict[str, str] = {}
    for topic, kind in bus.contents().items():
        try:
            (topics if kind == "topic" else others)[topic] = bus.stats(topic)
        except (slipring.TopicNotFound, slipring.TopicGone):
            continue
        except slipring.SlipringError as error:
            problems[topic] = f"{type(error).__name__}: {error}"
    return Survey(time.monotonic(), time.time_ns(), topics, problems, others)


def report(found: Survey) -> int:
    """Report the problems on stderr and return the exit code."""
    for topic, problem in found.problems.items():
        told = printable(f"topic {topic!r}: {problem}")
        process_exit.complain(f"error: {told} (`slipring doctor` checks every topic)")
    return 1 if found.problems else 0


@dataclass(frozen=True)
class Traffic:
    """The activity of a topic between two surveys, and its state at the second."""

    topic: str
    messages_per_s: float
    bytes_per_s: float
    retained: int
    publishers: int
    readers: int
    cursors: int
    worst_lag: int
    lost: int
    lost_per_s: float


def traffic(before: Survey, after: Survey) -> list[Traffic]:
    """Return the difference; a new or re-created topic counts from its first message."""
    elapsed = max(after.taken_s - before.taken_s, 1e-9)
    return [_differ(topic, before.topics.get(topic), now, elapsed) for topic, now in after.topics.items()]


def _differ(topic: str, then: Stats | None, now: Stats, elapsed: float) -> Traffic:
    if then is None or then["generation"] != now["generation"]:
        then = {"published": 0, "bytes": 0, "readers": []}
    lost_then = {_identity(reader): reader["lost"] for reader in then["readers"]}
    newly_lost = sum(
        max(reader["lost"] - lost_then.get(_identity(reader), 0), 0) for reader in now["readers"]
    )
    behind = [reader["lag"] for reader in living(now["readers"])] + [
        cursor["lag"] for cursor in now["cursors"]
    ]
    return Traffic(
        topic=topic,
        messages_per_s=max(now["published"] - then["published"], 0) / elapsed,
        bytes_per_s=max(now["bytes"] - then["bytes"], 0) / elapsed,
        retained=now["retained"],
        publishers=len(living(now["publishers"])),
        readers=len(living(now["readers"])),
        cursors=len(now["cursors"]),
        worst_lag=max(behind, default=0),
        lost=sum(reader["lost"] for reader in living(now["readers"])),
        lost_per_s=newly_lost / elapsed,
    )


def living(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in entries if entry["alive"]]


def _identity(reader: Mapping[str, Any]) -> tuple[Any, Any]:
    return reader["entry"], reader["pid"]
