# SPDX-License-Identifier: Apache-2.0
"""The topics of a service."""

from __future__ import annotations

import re
from collections.abc import Collection

from slipring.errors import BadArgument

MAX_SERVICE = 64
CLIENT_ID = re.compile(r"[0-9a-f]{16}")
REPLY_TOPIC = re.compile(r"(.+)\.reply\.([0-9a-f]{16})")


def check_service(service: str) -> str:
    if not isinstance(service, str):
        raise TypeError(f"service must be str, not {type(service).__name__}")
    if len(service) > MAX_SERVICE:
        hint = f"has {len(service)} characters, at most {MAX_SERVICE}"
        raise BadArgument(f"service {hint}: choose a shorter name", argument="service")
    return service


def seat_topic(service: str) -> str:
    return f"{service}.server"


def calls_topic(service: str) -> str:
    return f"{service}.calls"


def of_calls(topics: Collection[str]) -> set[str]:
    """Those of the topics that belong to servers and clients: replies, and both topics of a service."""
    services = {name.removesuffix(".server") for name in topics if name.endswith(".server")}
    pairs = {service for service in services if calls_topic(service) in topics}
    replies = {name for name in topics if REPLY_TOPIC.fullmatch(name)}
    return replies | {topic for service in pairs for topic in (seat_topic(service), calls_topic(service))}


def reply_topic(service: str, client: str) -> str:
    return f"{service}.reply.{client}"
