# SPDX-License-Identifier: Apache-2.0
"""What clients and servers say to each other: one type per table of docs/spec/call.fbs."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


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
