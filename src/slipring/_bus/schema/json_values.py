# SPDX-License-Identifier: Apache-2.0
"""Plain values as JSON that people and other programs read and write, for every encoding.

The forms are those that `Schema.json_schema` describes and encoding json has: moments and durations are ISO 8601 (those
in nanoseconds are integers), bytes are base64, UUIDs, decimals and dates are strings. Floats that are not finite are
"NaN", "Infinity" and "-Infinity", as in the defaults of a schema.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import re
import uuid
from collections.abc import Callable
from typing import Any

from slipring.errors import BadArgument

from . import field_types as kinds
from .plain_values import MICROSECOND
from .schema_document import value_to_json

_DURATION = re.compile(
    r"(?P<sign>[+-]?)P(?=[\dT])(?:(?P<days>\d+)D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)(?:\.(?P<part>\d{1,6}))?S)?)?",
    re.ASCII,
)
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(kind: kinds.Type, value: Any) -> Any:
    """Return the JSON form of a plain value. None stands for NaT, too."""
    return value_to_json(kind, value, iso)


def iso(value: datetime.datetime | datetime.timedelta) -> str:
    """Return a moment or a duration as ISO 8601."""
    if isinstance(value, datetime.datetime):
        return value.isoformat().removesuffix("+00:00") + "Z"
    seconds, part = divmod(abs(value) // MICROSECOND, 1_000_000)
    days, seconds = divmod(seconds, 86_400)
    fraction = f".{part:06}".rstrip("0") if part else ""
    rest = f"T{seconds}{fraction}S" if seconds or part else ""
    return f"{'-' * (value < datetime.timedelta(0))}P{f'{days}D' if days or not rest else ''}{rest}"


def from_json(kind: kinds.Type, found: Any, path: str = "") -> Any:
    """Return what an encoder takes for a value of JSON; BadArgument names the field whose text cannot be read.

    Everything else that does not fit the type is left as it is: the encoder refuses it, and names the field.
    """
    match kind:
        case kinds.Nullable(item=item):
            return None if found is None else from_json(item, found, path)
        case kinds.List(item=item) | kinds.Array(row=item) if isinstance(found, list):
            return [from_json(item, each, f"{path}[{at}]") for at, each in enumerate(found)]
        case kinds.Map(item=item) if isinstance(found, dict):
            return {key: from_json(item, each, f"{path}[{key!r}]") for key, each in found.items()}
        case kinds.Struct(fields=fields) if isinstance(found, dict):
            types = {each.name: each.type for each in fields}
            return {
                key: from_json(types[key], each, kinds.within(path, key)) if key in types else each
                for key, each in found.items()
            }
    reader = _READERS.get(type(kind))
    if reader is None or (isinstance(kind, (kinds.Timestamp, kinds.Duration)) and isinstance(found, int)):
        return found
    read, form = reader
    try:
        return read(found)
    except (ValueError, TypeError, ArithmeticError, AttributeError):
        shown = repr(found) if len(repr(found)) <= 60 else f"{found!r:.57}…"
        field = path or "value"
        raise BadArgument(f"{field}={shown} must be {kind}: {form}", argument=field) from None


def _float(found: Any) -> Any:
    return _NOT_FINITE[found] if isinstance(found, str) and found in _NOT_FINITE else found


def _moment(found: Any) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(found)
    if moment.utcoffset() is None:
        raise ValueError
    return moment


def _duration(found: Any) -> datetime.timedelta:
    match = _DURATION.fullmatch(found)
    if match is None:
        raise ValueError
    days, hours, minutes, seconds = (
        int(match[name] or 0) for name in ("days", "hours", "minutes", "seconds")
    )
    micros = int((match["part"] or "").ljust(6, "0"))
    length = datetime.timedelta(days, seconds, micros, minutes=minutes, hours=hours)
    return -length if match["sign"] == "-" else length


def _uuid(found: Any) -> uuid.UUID:
    return uuid.UUID(found)


def _decimal(found: Any) -> Any:
    if isinstance(found, str):
        return decimal.Decimal(found)
    if type(found) is not int:
        raise TypeError
    return found


_READERS: dict[type[kinds.Type], tuple[Callable[[Any], Any], str]] = {
    kinds.Float: (_float, "a number"),
    kinds.Bytes: (lambda found: base64.b64decode(found.encode(), validate=True), "base64 in a string"),
    kinds.Timestamp: (_moment, 'ISO 8601 with an offset, such as "2026-11-19T04:05:06Z"'),
    kinds.Duration: (_duration, 'ISO 8601, such as "PT1.5S"'),
    kinds.Date: (datetime.date.fromisoformat, 'ISO 8601, such as "2026-11-19"'),
    kinds.Uuid: (_uuid, 'a string of 32 hexadecimal digits, such as "12345678-1234-5678-1234-567812345678"'),
    kinds.Decimal: (_decimal, 'a string, such as "1.50"'),
}
