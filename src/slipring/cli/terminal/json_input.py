# SPDX-License-Identifier: Apache-2.0
"""JSON from a user as a message of a typed topic."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slipring._bus.schema import field_types as kinds
from slipring._bus.schema.json_values import from_json
from slipring.errors import BadArgument

if TYPE_CHECKING:
    from slipring._bus.schema.topic_schema import Schema


def reader(schema: Schema) -> Callable[[bytes], Any]:
    """Return the function from a text of JSON to what a publisher sends; BadArgument names the field."""

    def read(body: bytes) -> Any:
        try:
            found = json.loads(body)
        except (ValueError, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else error
            text = f"{body[:40]!r} is not JSON: {why}; a topic with a schema takes JSON, --raw sends bytes"
            raise BadArgument(text, argument="message") from None
        rows = schema.encoding == "arrow" and isinstance(found, list)
        return from_json(kinds.List(schema.root) if rows else schema.root, found)

    return read
