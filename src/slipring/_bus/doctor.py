# SPDX-License-Identifier: Apache-2.0
"""Findings of a bus: entries and files of crashed processes, half-made things, damaged files, stalls, old outboxes.

A finding's severity is "note" where the next process that uses the topic clears it by itself, else "problem".
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from slipring.errors import (
    BadArgument,
    Corrupt,
    Denied,
    SlipringError,
    TopicGone,
    TopicNotFound,
    WrongLayout,
)

from .calls import cleanup
from .exactly_once import leftovers as outbox_leftovers
from .kinds import KINDS, TOPIC, Kind

Finding = dict[str, str]
Stats = Callable[[str], dict[str, Any]]  # of a topic

_FILE = re.compile(rf"(.+)\.({'|'.join(suffix for kind in KINDS for suffix in kind.suffixes)})")
_KIND_OF = {suffix: kind for kind in KINDS for suffix in kind.suffixes}
_FOREIGN = ("a file that does not belong to Slipring", "left alone")
_LASTS_S = 0.2  # a claim that is still open after this long is reported


def examine(path: str, files: list[str], repair: bool) -> list[Finding]:
    """Return the findings of one bus directory, by name."""
    matches = filter(None, map(_FILE.fullmatch, files))
    things = sorted({(match[1], _KIND_OF[match[2]].noun) for match in matches})
    by_noun = {kind.noun: kind for kind in KINDS}
    findings = [finding for name, noun in things for finding in _examine(path, by_noun[noun], name, repair)]
    findings += [_finding(file, *_FOREIGN) for file in files if not _FILE.fullmatch(file)]
    topics = [name for name, noun in things if noun == TOPIC.noun]
    findings += _stalls(topics, lambda name: TOPIC.stats(path, name))
    jobs = outbox_leftovers.examine(path, lambda topic: _generation(path, topic), repair)
    return findings + [_finding(*found) for found in jobs]


def _finding(name: str, problem: str, action: str) -> Finding:
    return {"topic": name, "problem": problem, "action": action, "severity": "problem"}


def note(name: str, problem: str, action: str) -> Finding:
    """Return a finding that needs no action by the user."""
    return {**_finding(name, problem, action), "severity": "note"}


def _examine(path: str, kind: Kind, name: str, repair: bool) -> list[Finding]:
    try:
        if kind.find_half(path, name, repair):
            problem = f"half a {kind.noun}: one of its files is missing"
            return [
                note(name, problem, "removed" if repair else "removed by the next attach, or with repair")
            ]
        return _examine_whole(path, kind, name, repair)
    except (TopicNotFound, TopicGone):
        return []  # removed meanwhile
    except BadArgument:
        return [_finding(name, *_FOREIGN)]
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


def _examine_whole(path: str, kind: Kind, name: str, repair: bool) -> list[Finding]:
    if kind is TOPIC and cleanup.is_leftover(lambda topic: TOPIC.stats(path, topic), name):
        if repair:
            kind.remove(path, name)
        action = "removed" if repair else "removed by the next client or server, or with repair"
        return [note(name, "the reply topic of a dead client", action)]
    kind.verify(path, name)
    stats = kind.stats(path, name)
    dead = sum(not entry["alive"] for users in kind.users for entry in stats[users])
    if not dead:
        return []
    if repair:
        kind.sweep(path, name)
    problem = f"{dead} table {'entry' if dead == 1 else 'entries'} of dead processes"
    return [note(name, problem, "cleared" if repair else "cleared by the next attach, or with repair")]


def _generation(path: str, topic: str) -> str:
    try:
        return str(TOPIC.stats(path, topic)["generation"])
    except SlipringError:
        return ""  # gone, or damaged: another generation


# Stalls: messages that were claimed and are not committed by a living process. Subscribers wait for them, and when the
# ring has gone round, so do publishers. Every send has an open claim for an instant; one that lasts is a stall.


def _stalls(names: list[str], stats: Stats) -> list[Finding]:
    """Return a finding for each topic whose subscribers wait for a claim."""
    before = {name: claim for name in names if (claim := _first_claim(stats, name))}
    if not before:
        return []
    time.sleep(_LASTS_S)
    after = {name: _first_claim(stats, name) for name in before}
    return [_stall(name, now) for name, now in after.items() if now and now["seq"] == before[name]["seq"]]


def _first_claim(stats: Stats, name: str) -> dict[str, Any] | None:
    """Return the claim that subscribers meet first, and how many messages are behind it."""
    try:
        found = stats(name)
    except SlipringError:
        return None  # gone, or damaged, which is a finding of its own
    claims: list[dict[str, Any]] = found["open_claims"]
    return {**claims[0], "behind": found["tail"] - claims[0]["seq"] - 1} if claims else None


def _stall(name: str, claim: dict[str, Any]) -> Finding:
    pid = claim["pid"]
    stopped = _state(pid) in ("T", "t")
    why = "which is stopped" if stopped else "which has an open loan, or views of one"
    problem = (
        f"subscribers wait for message {claim['seq']}, claimed and not committed by process {pid} "
        f"(sender {claim['sender']!r}), {why}; {claim['behind']} messages are behind it"
    )
    resume = f"continue it (kill -CONT {pid})" if stopped else "end its loan"
    return _finding(name, problem, f"{resume}, or end the process")


def _state(pid: int) -> str | None:
    """Return the state letter of a process of this pid namespace: T is stopped, t stopped by a debugger."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return None
