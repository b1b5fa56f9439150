# SPDX-License-Identifier: Apache-2.0
"""What the dead left on a bus: table entries, half-made or half-removed things, damaged files.

A finding's severity is "note" where the next process that uses the topic clears it by itself, else "problem".
"""

from __future__ import annotations

import re

from slipring.errors import (
    BadArgument,
    Corrupt,
    Denied,
    SlipringError,
    TopicGone,
    TopicNotFound,
    WrongLayout,
)

from . import stalls
from .calls import cleanup as leftovers
from .exactly_once import leftovers as outbox_leftovers
from .kinds import KINDS, TOPIC, Kind

Finding = dict[str, str]

_FILE = re.compile(rf"(.+)\.({'|'.join(suffix for kind in KINDS for suffix in kind.suffixes)})")
_KIND_OF = {suffix: kind for kind in KINDS for suffix in kind.suffixes}


def _finding(name: str, problem: str, action: str) -> Finding:
    return {"topic": name, "problem": problem, "action": action, "severity": "problem"}


def note(name: str, problem: str, action: str) -> Finding:
    """Make a finding that nobody has to act on."""
    return {**_finding(name, problem, action), "severity": "note"}


def _dead_entries(path: str, kind: Kind, name: str) -> int:
    stats = kind.stats(path, name)
    return sum(not entry["alive"] for users in kind.users for entry in stats[users])


def _examine_whole(path: str, kind: Kind, name: str, repair: bool) -> list[Finding]:
    if kind is TOPIC and leftovers.is_leftover(lambda topic: TOPIC.stats(path, topic), name):
        if repair:
            kind.remove(path, name)
        action = "removed" if repair else "removed by the next client or server, or with repair"
        return [note(name, "the reply topic of a dead client", action)]
    kind.verify(path, name)
    dead = _dead_entries(path, kind, name)
    if not dead:
        return []
    if repair:
        kind.sweep(path, name)
    problem = f"{dead} table {'entry' if dead == 1 else 'entries'} of dead processes"
    return [note(name, problem, "cleared" if repair else "cleared by the next attach, or with repair")]


def _examine(path: str, kind: Kind, name: str, repair: bool) -> list[Finding]:
    try:
        if kind.mend(path, name, repair):
            problem = f"half a {kind.noun}: one of its files is missing"
            return [
                note(name, problem, "removed" if repair else "removed by the next attach, or with repair")
            ]
        return _examine_whole(path, kind, name, repair)
    except (TopicNotFound, TopicGone):
        return []  # removed while we looked
    except BadArgument:
        return [_finding(name, "a file that is not Slipring's", "left alone")]
    except Denied as error:
        return [_finding(name, f"Denied: {error}", "not checked")]
    except (Corrupt, WrongLayout) as error:
        return [
            _finding(
                name,
                f"{type(error).__name__}: {error}",
                f"remove it when no process uses it: slipring rm {name}",
            )
        ]
    except SlipringError as error:  # of this process or machine: the topic may be sound, and in use
        return [_finding(name, f"{type(error).__name__}: {error}", "not checked")]


def examine(path: str, files: list[str], repair: bool) -> list[Finding]:
    """Findings of one bus directory, by name."""
    matches = filter(None, map(_FILE.fullmatch, files))
    things = sorted({(match[1], _KIND_OF[match[2]].noun) for match in matches})
    by_noun = {kind.noun: kind for kind in KINDS}
    findings = [finding for name, noun in things for finding in _examine(path, by_noun[noun], name, repair)]
    strangers = [file for file in files if not _FILE.fullmatch(file)]
    findings += [_finding(file, "a file that is not Slipring's", "left alone") for file in strangers]
    topics = [name for name, noun in things if noun == TOPIC.noun]
    findings += [_finding(*found) for found in stalls.examine(topics, lambda name: TOPIC.stats(path, name))]
    jobs = outbox_leftovers.examine(path, lambda topic: _generation(path, topic), repair)
    return findings + [_finding(*found) for found in jobs]


def _generation(path: str, topic: str) -> str:
    try:
        return str(TOPIC.stats(path, topic)["generation"])
    except SlipringError:
        return ""  # gone, or damaged: not the one it was
