# SPDX-License-Identifier: Apache-2.0
"""The fields of the requests of docs/spec/bridge.md. Undeclared fields are ignored."""

from __future__ import annotations

from typing import Any

from ..checked import Handle, Natural
from ..requirement import msgspec


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    """The settings of a topic by their names. The bus checks the values."""

    capacity: Any = None
    slots: Any = None
    delivery: Any = None
    writers: Any = None
    mode: Any = None
    max_readers: Any = None
    max_writers: Any = None
    max_cursors: Any = None
    must_exist: Any = None
    schema: str | None = None


class Nothing(msgspec.Struct):
    """Of a request without arguments."""


class OfTopic(msgspec.Struct):
    topic: str


class OfHandle(msgspec.Struct):
    handle: Natural


class Create(msgspec.Struct):
    topic: str
    settings: dict[str, Any]
    exist_ok: bool


class Remove(msgspec.Struct):
    topic: str
    missing_ok: bool


class DropCursor(msgspec.Struct):
    topic: str
    cursor: str


class Doctor(msgspec.Struct):
    repair: bool


class OpenPublisher(msgspec.Struct):
    handle: Handle
    topic: str
    sender: str
    origin: str
    settings: dict[str, Any]
    generation: str | None = None
    upstream: list[str] | None = None


class ClosePublisher(msgspec.Struct):
    handle: Natural
    forget: bool


class Subscribe(msgspec.Struct):
    handle: Handle
    topic: str
    start: str | Natural
    conflate: bool
    waited: bool
    messages: Natural
    bytes: Natural
    lossy: bool | None = None
    cursor: str | None = None
    types: list[str] | None = None
    ignore_types: list[str] | None = None
    ignore_senders: list[str] | None = None
    expires: float | None = None
    own: Natural | None = None
    schema: str | None = None
    resume: Natural | None = None
    generation: str | None = None


class Seek(msgspec.Struct):
    handle: Natural
    start: Natural
    seq: Natural


class Commit(msgspec.Struct):
    handle: Natural
    position: Natural
