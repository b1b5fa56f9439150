# SPDX-License-Identifier: Apache-2.0
"""What the dead left on a bus: table entries, half-made or half-removed topics, damaged files."""

from __future__ import annotations

import os

from slipring.errors import SlipringError

from .native import _native

Finding = dict[str, str]


def _finding(topic: str, problem: str, action: str) -> Finding:
    return {"topic": topic, "problem": problem, "action": action}


def _dead_entries(path: str, topic: str) -> int:
    stats = _native.topic_stats(path, topic)
    return sum(not entry["alive"] for entry in (*stats["publishers"], *stats["readers"]))


def _examine_topic(path: str, topic: str, repair: bool) -> list[Finding]:
    try:
        _native.topic_verify(path, topic)
        dead = _dead_entries(path, topic)
        if not dead:
            return []
        if repair:
            _native.topic_sweep(path, topic)
    except SlipringError as error:
        return [_finding(topic, f"{type(error).__name__}: {error}", f"remove it: slipring rm {topic}")]
    problem = f"{dead} table {'entry' if dead == 1 else 'entries'} of dead processes"
    return [_finding(topic, problem, "cleared" if repair else "cleared by the next attach, or with repair")]


def _examine_orphan(path: str, file: str, repair: bool) -> Finding:
    """A reader table without its ring: a creator or remover died half-way."""
    if repair:
        try:
            os.unlink(os.path.join(path, file))
        except FileNotFoundError:
            return _finding(file.removesuffix(".readers"), "half a topic", "gone meanwhile")
    return _finding(
        file.removesuffix(".readers"),
        "half a topic: a reader table without its ring",
        "removed" if repair else "removed with repair, or by the next create",
    )


def examine(path: str, topics: list[str], repair: bool) -> list[Finding]:
    findings = [finding for topic in topics for finding in _examine_topic(path, topic, repair)]
    known = set(topics)
    for file in sorted(os.listdir(path)):
        stem, dot, suffix = file.rpartition(".")
        if dot and suffix == "readers" and stem not in known:
            findings.append(_examine_orphan(path, file, repair))
        elif suffix not in ("ring", "readers"):
            findings.append(_finding(file, "a file that is not Slipring's", "left alone"))
    return findings
