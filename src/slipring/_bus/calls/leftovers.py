# SPDX-License-Identifier: Apache-2.0
"""Reply topics of dead clients.

A client lives as long as its writer entry on `<service>.calls`, which bears its id, or the reader entry of
its own reply topic. The first is looked at first: a client takes it before it makes its topic, and gives it
up after.
"""

from __future__ import annotations

import os

from slipring.errors import SlipringError, TopicGone, TopicNotFound

from ..native import _native
from . import names


def _living_writers(path: str, service: str) -> set[str]:
    try:
        stats = _native.topic_stats(path, names.calls_topic(service))
    except (TopicNotFound, TopicGone):
        return set()
    return {writer["sender"] for writer in stats["publishers"] if writer["alive"]}


def _has_reader(path: str, topic: str) -> bool:
    return any(reader["alive"] for reader in _native.topic_stats(path, topic)["readers"])


def is_leftover(path: str, topic: str) -> bool:
    """Whether this is the reply topic of a dead client."""
    match = names.REPLY_TOPIC.fullmatch(topic)
    if match is None:
        return False
    return match[2] not in _living_writers(path, match[1]) and not _has_reader(path, topic)


def remove_all(path: str, service: str) -> int:
    """Remove the leftovers of one service; tells how many. Never fails for what it finds."""
    try:
        files = os.listdir(path)
    except OSError:
        return 0
    topics = [file.removesuffix(".ring") for file in files if file.endswith(".ring")]
    mine = [
        topic for topic in topics if (found := names.REPLY_TOPIC.fullmatch(topic)) and found[1] == service
    ]
    if not mine:
        return 0
    try:
        living = _living_writers(path, service)
    except SlipringError:
        return 0  # not ours to judge
    return sum(_remove(path, topic) for topic in mine if topic[-16:] not in living)


def _remove(path: str, topic: str) -> bool:
    try:
        if _has_reader(path, topic):
            return False
        _native.topic_remove(path, topic)
        return True
    except SlipringError:
        return False  # gone already, or somebody else's
