# SPDX-License-Identifier: Apache-2.0
"""Errors as JSON: the name of the class, the message, the argument to change."""

from __future__ import annotations

from typing import Any

from slipring import errors
from slipring.errors import RemoteError, SchemaMismatch, SlipringError, TopicExists, Undecodable

_BUILTIN: dict[str, type[Exception]] = {"TypeError": TypeError, "ValueError": ValueError}
_MOST_CHARACTERS = 2000  # a message may quote what a client sent
_FIELDS = ("argument", "found", "asked", "field")
_OF_CLASS: dict[type[SlipringError], tuple[str, ...]] = {
    TopicExists: ("found", "asked"),
    SchemaMismatch: ("found", "asked", "field"),
    Undecodable: ("field",),
}


def to_json(error: Exception) -> dict[str, Any]:
    """Return an error as JSON from which a peer can raise it again."""
    content: dict[str, Any] = {"error": type(error).__name__, "message": str(error)[:_MOST_CHARACTERS]}
    for field in _FIELDS:
        value = getattr(error, field, "")
        if isinstance(value, str) and value:
            content[field] = value[:_MOST_CHARACTERS]
    number = getattr(error, "errno", None)
    if isinstance(number, int):
        content["errno"] = number
    return content


def from_json(content: dict[str, Any]) -> Exception:
    """Return the error that a peer reported; one of an unknown class as a RemoteError that names it."""
    name, message = str(content.get("error", "")), str(content.get("message", ""))
    if name in _BUILTIN:
        return _BUILTIN[name](message)
    found = getattr(errors, name, None) if name in errors.__all__ else None
    if not isinstance(found, type) or not issubclass(found, SlipringError):
        return RemoteError(f"{name}: {message}")
    argument, number = str(content.get("argument", "")), content.get("errno")
    if issubclass(found, errors._SystemError):
        return found(message, argument=argument, errno=number if isinstance(number, int) else 0)
    texts = {field: str(content.get(field, "")) for field in _OF_CLASS.get(found, ())}
    return found(message, argument=argument, **texts)
