# SPDX-License-Identifier: Apache-2.0
"""What the dead left on a bus: table entries, half-made or half-removed topics, damaged files."""

from __future__ import annotations

import re

from slipring.errors import BadArgument, Denied, SlipringError, TopicGone, TopicNotFound

from .calls import leftovers
from .native import _native

Finding = dict[str, str]

_TOPIC_FILE = re.compile(r"(.+)\.(ring|readers)")


def _finding(topic: str, problem: str, action: str) -> Finding:
    return {"topic": topic, "problem": problem, "action": action}


def _dead_entries(path: str, topic: str) -> int:
    stats = _native.topic_stats(path, topic)
    return sum(not entry["alive"] for entry in (*stats["publishers"], *stats["readers"]))


def _examine_whole(path: str, topic: str, repair: bool) -> list[Finding]:
    if leftovers.is_leftover(path, topic):
        if repair:
            _native.topic_remove(path, topic)
        action = "removed" if repair else "removed by the next client or server, or with repair"
        return [_finding(topic, "the reply topic of a dead client", action)]
    _native.topic_verify(path, topic)
    dead = _dead_entries(path, topic)
    if not dead:
        return []
    if repair:
        _native.topic_sweep(path, topic)
    problem = f"{dead} table {'entry' if dead == 1 else 'entries'} of dead processes"
    return [_finding(topic, problem, "cleared" if repair else "cleared by the next attach, or with repair")]


def _examine(path: str, topic: str, repair: bool) -> list[Finding]:
    try:
        if _native.topic_mend(path, topic, repair):
            problem = "half a topic: one of its two files is missing"
            return [_finding(topic, problem, "removed" if repair else "removed with repair")]
        return _examine_whole(path, topic, repair)
    except (TopicNotFound, TopicGone):
        return []  # removed while we looked
    except BadArgument:
        return [_finding(topic, "a file that is not Slipring's", "left alone")]
    except Denied as error:
        return [_finding(topic, f"Denied: {error}", "not checked: ask its owner")]
    except SlipringError as error:
        return [_finding(topic, f"{type(error).__name__}: {error}", f"remove it: slipring rm {topic}")]


def examine(path: str, files: list[str], repair: bool) -> list[Finding]:
    """Findings of one bus directory, by topic."""
    topics = sorted({match[1] for match in map(_TOPIC_FILE.fullmatch, files) if match})
    findings = [finding for topic in topics for finding in _examine(path, topic, repair)]
    strangers = [file for file in files if not _TOPIC_FILE.fullmatch(file)]
    return findings + [_finding(file, "a file that is not Slipring's", "left alone") for file in strangers]
