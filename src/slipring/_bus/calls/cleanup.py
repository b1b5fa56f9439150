# SPDX-License-Identifier: Apache-2.0
"""Removal of the reply topics of crashed clients.

A client lives as long as its writer entry on `<service>.calls`, which has its id as sender, or the reader entry of
its own reply topic. The writer entry is read first: a client takes it before it creates its topic, and gives it up
after it has removed the topic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slipring.errors import SlipringError, TopicGone, TopicNotFound

from . import protocol

if TYPE_CHECKING:
    from .runtime import TopicBus

    Tables = Callable[[str], dict[str, Any]]  # of a topic


def _living_writers(tables: Tables, service: str) -> set[str]:
    try:
        stats = tables(protocol.calls_topic(service))
    except (TopicNotFound, TopicGone):
        return set()
    return {writer["sender"] for writer in stats["publishers"] if writer["alive"]}


def _has_reader(tables: Tables, topic: str) -> bool:
    return any(reader["alive"] for reader in tables(topic)["readers"])


def is_leftover(tables: Tables, topic: str) -> bool:
    """Whether this is the reply topic of a dead client."""
    match = protocol.REPLY_TOPIC.fullmatch(topic)
    if match is None:
        return False
    return match[2] not in _living_writers(tables, match[1]) and not _has_reader(tables, topic)


def remove_all(bus: TopicBus, service: str) -> int:
    """Remove the leftovers of one service and return how many. Topics that cannot be read or removed stay."""
    try:
        clients = {
            topic: found[2]
            for topic in bus._names()
            if (found := protocol.REPLY_TOPIC.fullmatch(topic)) and found[1] == service
        }
        living = _living_writers(bus._tables, service) if clients else set()
    except SlipringError:
        return 0  # not readable for us
    # defect dead_reply_topics_stay: return 0
    return sum(_remove(bus, topic) for topic, client in clients.items() if client not in living)


def _remove(bus: TopicBus, topic: str) -> bool:
    try:
        if _has_reader(bus._tables, topic):
            return False
        bus._remove(topic)
        return True
    except SlipringError:
        return False  # gone already, or another user's
