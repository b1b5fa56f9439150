# SPDX-License-Identifier: Apache-2.0
"""The protocol of calls (docs/spec/calls.md): its limits, the topics of a service, and a type per message."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import IntEnum
from typing import NamedTuple

from slipring.errors import BadArgument

VERSION = 1
MAX_SERVICE = 64  # characters of a service's name
MAX_METHOD = 255  # bytes of a method's name
MAX_TRAIL = 16  # servers in the trail of a nested call
SMALLEST_REPLY_TOPIC = 64 << 10  # its capacity in bytes
CLIENT_ID = re.compile(r"[0-9a-f]{16}")
REPLY_TOPIC = re.compile(r"(.+)\.reply\.([0-9a-f]{16})")

# Topics


def check_service(service: str) -> str:
    if not isinstance(service, str):
        raise TypeError(f"service must be str, not {type(service).__name__}")
    if len(service) > MAX_SERVICE:
        hint = f"has {len(service)} characters, at most {MAX_SERVICE}"
        raise BadArgument(f"service {hint}: choose a shorter name", argument="service")
    return service


def presence_topic(service: str) -> str:
    return f"{service}.server"


def calls_topic(service: str) -> str:
    return f"{service}.calls"


def reply_topic(service: str, client: str) -> str:
    return f"{service}.reply.{client}"


def of_calls(topics: Collection[str]) -> set[str]:
    """Return the topics that belong to servers and clients: replies, and both topics of a service."""
    services = {name.removesuffix(".server") for name in topics if name.endswith(".server")}
    pairs = {service for service in services if calls_topic(service) in topics}
    replies = {name for name in topics if REPLY_TOPIC.fullmatch(name)}
    return replies | {topic for service in pairs for topic in (presence_topic(service), calls_topic(service))}


# Messages


class Reason(IntEnum):
    """Why a call has no answer."""

    UNKNOWN = 0
    RAISED = 1
    UNKNOWN_METHOD = 2
    BAD_ARGUMENTS = 3
    TOO_LARGE = 4
    GONE = 5
    FULL = 6


class Hello(NamedTuple):
    version: int
    instance: int
    incarnation: int
    codec: str


class Call(NamedTuple):
    server: int
    deadline_ns: int
    max_answer: int
    window: int
    method: str
    arguments: bytes | memoryview
    trail: tuple[int, ...] = ()


class Cancel(NamedTuple):
    pass


class Credit(NamedTuple):
    messages: int


class Result(NamedTuple):
    value: bytes | memoryview


class Part(NamedTuple):
    value: bytes | memoryview


class Chunk(NamedTuple):
    total: int
    data: bytes | memoryview


class End(NamedTuple):
    pass


class Error(NamedTuple):
    reason: int
    type: str
    message: str
    traceback: str = ""


Payload = Hello | Call | Cancel | Credit | Result | Part | Chunk | End | Error

HELLO, CALL, CANCEL, CREDIT, RESULT, PART, CHUNK, END, ERROR = range(1, 10)
