# SPDX-License-Identifier: Apache-2.0
"""The schema of a topic in the JSON of the protocol: its bytes in base64, null for a topic without one.

What a peer sent is hostile until it was checked here: its size, its base64, and that its bytes are a schema.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument, Corrupt

if TYPE_CHECKING:
    from slipring._bus.schema.topic_schema import Schema


def to_text(data: bytes | None) -> str | None:
    """Return the bytes of a schema as text."""
    return None if data is None else base64.b64encode(data).decode()


def asked(value: Any) -> Schema | None:
    """Return the schema that a client asks for; BadArgument if it is not one."""
    from slipring._bus.schema.topic_schema import Schema

    if value is None:
        return None
    try:
        return Schema.from_bytes(_bytes(value))
    except (Corrupt, ValueError) as error:
        raise BadArgument(f"the schema that is asked for is not valid: {error}", argument="schema") from None


def stored(value: Any, topic: str) -> bytes | None:
    """Return the bytes of a topic's schema, as a server sent it; Corrupt if they are not a schema."""
    from slipring._bus.typed.stored import schema_of

    if value is None:
        return None
    try:
        data = _bytes(value)
        schema_of(data)
    except (Corrupt, ValueError) as error:
        raise Corrupt(f"topic {topic!r}: the bridge sent a schema that is not valid: {error}") from None
    return data


def _bytes(value: Any) -> bytes:
    from slipring._bus.schema.schema_document import MOST_BYTES

    if not isinstance(value, str):
        raise ValueError(f"it is not base64 text, but {type(value).__name__}")
    if len(value) > 4 * (MOST_BYTES // 3 + 1):
        raise ValueError(f"it has more than {MOST_BYTES} bytes")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("it is not base64") from None
