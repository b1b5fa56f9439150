# SPDX-License-Identifier: Apache-2.0
"""The topics of a service."""

from __future__ import annotations

import re

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


def reply_topic(service: str, client: str) -> str:
    return f"{service}.reply.{client}"
