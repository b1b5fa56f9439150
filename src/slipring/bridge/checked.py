# SPDX-License-Identifier: Apache-2.0
"""Content from outside (requests, configuration) converted to a declared type, or BadArgument that names the field."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

from slipring.errors import BadArgument

from .requirement import msgspec

T = TypeVar("T")

Natural = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
Handle = Annotated[int, msgspec.Meta(ge=0, le=(1 << 32) - 1)]

_FIELD = re.compile(r" - at `(?:key in )?\$\.?(?P<field>\w*).*")
_NAMED = re.compile(r"(?P<problem>missing required|contains unknown) field `(?P<field>\w+)`")


def convert(content: Any, kind: type[T], where: str = "") -> T:
    """Return the content as `kind`. where: the name of what holds it, for the text of an error."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise _bad_argument(str(error), content, kind, where) from None


def _bad_argument(problem: str, content: Any, kind: type[Any], where: str) -> BadArgument:
    inside = f" in {where}" if where else ""
    named = _NAMED.search(problem)
    if named is not None and named["problem"] == "missing required":
        return BadArgument(f"{named['field']} is missing{inside}", argument=named["field"])
    if named is not None:
        allowed = ", ".join(sorted(field.encode_name for field in msgspec.structs.fields(kind)))
        text = f"unknown entry {named['field']!r}{inside}: allowed are {allowed}"
        return BadArgument(text, argument=named["field"])
    found = _FIELD.search(problem)
    field = found["field"] if found is not None else ""
    expected = _FIELD.sub("", problem).replace("`", "").replace("Expected", "expected")
    if not field or not isinstance(content, dict):
        return BadArgument(f"{where or 'the content'} is not valid: {expected}", argument=where)
    return BadArgument(f"{field}={content.get(field)!r}{inside} is not valid: {expected}", argument=field)
