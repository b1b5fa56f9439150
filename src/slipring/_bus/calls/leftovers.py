# SPDX-License-Identifier: Apache-2.0
"""Reply topics of dead clients.

A client lives as long as its writer entry on `<service>.calls`, which bears its id, or the reader entry of
its own reply topic. The first is looked at first: a client takes it before it makes its topic, and gives it
up after.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slipring.errors import SlipringError, TopicGone, TopicNotFound

from . import names

if TYPE_CHECKING:
    from ..bus import Bus

    Tables = Callable[[str], dict[str, Any]]  # of a topic


def _living_writers(tables: Tables, service: str) -> set[str]:
    try:
        stats = tables(names.calls_topic(service))
    except (TopicNotFound, TopicGone):
        return set()
    return {writer["sender"] for writer in stats["publishers"] if writer["alive"]}


def _has_reader(tables: Tables, topic: str) -> bool:
    return any(reader["alive"] for reader in tables(topic)["readers"])


def is_leftover(tables: Tables, topic: str) -> bool:
    """Whether this is the reply topic of a dead client."""
    match = names.REPLY_TOPIC.fullmatch(topic)
    if match is None:
        return False
    return match[2] not in _living_writers(tables, match[1]) and not _has_reader(tables, topic)


def remove_all(bus: Bus, service: str) -> int:
    """Remove the leftovers of one service; tells how many. Never fails for what it finds."""
    try:
        topics = bus._names()
        mine = [
            topic for topic in topics if (found := names.REPLY_TOPIC.fullmatch(topic)) and found[1] == service
        ]
        living = _living_writers(bus._tables, service) if mine else set()
    except SlipringError:
        return 0  # not ours to judge
    # defect dead_reply_topics_stay: return 0
    return sum(_remove(bus, topic) for topic in mine if topic[-16:] not in living)


def _remove(bus: Bus, topic: str) -> bool:
    try:
        if _has_reader(bus._tables, topic):
            return False
        bus._remove(topic)
        return True
    except SlipringError:
        return False  # gone already, or somebody else's
