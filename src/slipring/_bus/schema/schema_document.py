# SPDX-License-Identifier: Apache-2.0
"""Types as the JSON of a schema, and back: docs/spec/schema.md.

The bytes are canonical: an equal schema has equal bytes. The reader takes bytes from any program. It accepts a document
only if it would write the same bytes, so that unknown keys, another order and duplicates are refused by one rule.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
import json
import math
import uuid
from collections.abc import Callable
from typing import Any, Final

from slipring.errors import BadArgument, Corrupt

from . import field_types as kinds
from .plain_values import EPOCH, MICROSECOND, to_plain

VERSION: Final = 1
MOST_BYTES: Final = 1 << 20
ENCODINGS: Final = ("msgpack", "json", "numpy", "arrow", "protobuf", "flatbuffers")
_MISSING: Final = object()


def corrupt(why: str, path: str = "") -> Corrupt:
    """Return the error. Names in a document have any length, the text has not."""
    where = f"field {path:.300}: " if path else ""
    return Corrupt(f"the schema's bytes are not valid: {where}{why:.500}", argument="schema")


def dump(document: dict[str, Any]) -> bytes:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def load(data: bytes) -> dict[str, Any]:
    """Return the JSON object of these bytes; Corrupt otherwise."""
    if len(data) > MOST_BYTES:
        raise corrupt(f"it has {len(data)} bytes, at most {MOST_BYTES} are allowed")
    try:
        document = json.loads(data.decode())
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise corrupt(f"it is not JSON: {str(error) or type(error).__name__:.200}") from None
    if not isinstance(document, dict):
        raise corrupt(f"it is a JSON {type(document).__name__}, not an object")
    return document


def check_canonical(document: dict[str, Any], data: bytes) -> None:
    """Refuse bytes that are another form of the document: `document` is what was understood of them."""
    try:
        expected = dump(document)
    except ValueError as error:  # a lone surrogate, or NaN
        raise corrupt(f"it has text or a number that cannot be written: {error}") from None
    if expected != data:
        at = next((i for i, (a, b) in enumerate(zip(expected, data, strict=False)) if a != b), len(expected))
        shown = data[max(0, at - 20) : at + 20]
        raise corrupt(f"it is not in canonical form, from byte {at}: {shown!r}")


def type_to_json(kind: kinds.Type) -> Any:
    match kind:
        case kinds.Nullable(item=item):
            return {"kind": "optional", "item": type_to_json(item)}
        case kinds.List(item=item):
            return {"kind": "list", "item": type_to_json(item)}
        case kinds.Map(item=item):
            return {"kind": "map", "item": type_to_json(item)}
        case kinds.Array(item=item, shape=shape):
            return {"kind": "array", "item": type_to_json(item), "shape": list(shape)}
        case kinds.Enum(values=values, name=name):
            return {"kind": "enum", "name": name, "values": [list(each) for each in values]}
        case kinds.Struct(fields=fields, name=name):
            return {"kind": "struct", "name": name, "fields": [_field_to_json(each) for each in fields]}
    return str(kind)


def _field_to_json(each: kinds.Field) -> dict[str, Any]:
    found = {"name": each.name, "type": type_to_json(each.type)}
    return (
        found
        if each.default is kinds.REQUIRED
        else {**found, "default": value_to_json(each.type, each.default)}
    )


def type_from_json(found: Any) -> kinds.Type:
    """Return the type; Corrupt names the field."""
    kind = _type(found, "", 0)
    problem = kinds.Limits().problem(kind)
    if problem is not None:
        raise corrupt(problem[1], problem[0])
    _check_defaults(kind, "")
    return kind


def _type(found: Any, path: str, depth: int) -> kinds.Type:
    if depth > kinds.MOST_DEPTH:
        raise corrupt(f"types are nested deeper than {kinds.MOST_DEPTH}", path)
    if isinstance(found, str):
        kind = kinds.leaf(found)
        if kind is None:
            raise corrupt(f"{found:.60} is not a type", path)
        return kind
    name = found.get("kind") if isinstance(found, dict) else None
    match name:
        case "optional":
            return kinds.Nullable(_type(_get(found, "item", object, path), path, depth + 1))
        case "list":
            return kinds.List(_type(_get(found, "item", object, path), f"{path}[]", depth + 1))
        case "map":
            return kinds.Map(_type(_get(found, "item", object, path), f"{path}[]", depth + 1))
        case "array":
            shape = _get(found, "shape", list, path)
            if not all(type(size) is int for size in shape):
                raise corrupt("the shape of an array is a list of integers", path)
            return kinds.Array(_type(_get(found, "item", object, path), f"{path}[]", depth + 1), tuple(shape))
        case "enum":
            return _enum(found, path)
        case "struct":
            fields = tuple(_field(each, path, depth) for each in _get(found, "fields", list, path))
            return kinds.Struct(fields, _get(found, "name", str, path))
    raise corrupt(f"{found!s:.60} is not a type", path)


def _get(found: dict[str, Any], key: str, kind: type, path: str) -> Any:
    value = found.get(key, _MISSING)
    if value is _MISSING or not isinstance(value, kind):
        raise corrupt(f"a {found.get('kind', 'field')} needs {key!r}, of type {kind.__name__}", path)
    return value


def _enum(found: dict[str, Any], path: str) -> kinds.Enum:
    values = []
    for each in _get(found, "values", list, path):
        if not isinstance(each, list) or [type(part) for part in each] not in ([str, str], [str, int]):
            raise corrupt(f"{each!s:.60} is not the name and the value of an enum", path)
        values.append((each[0], each[1]))
    return kinds.Enum(tuple(values), _get(found, "name", str, path))


def _field(found: Any, path: str, depth: int) -> kinds.Field:
    if not isinstance(found, dict):
        raise corrupt(f"{found!s:.60} is not a field", path)
    name = _get(found, "name", str, path)
    inner = kinds.within(path, name[:60])
    kind = _type(_get(found, "type", object, inner), inner, depth + 1)
    default = found.get("default", _MISSING)
    return kinds.Field(
        name, kind, kinds.REQUIRED if default is _MISSING else value_from_json(kind, default, inner)
    )


def _check_defaults(kind: kinds.Type, path: str) -> None:
    if isinstance(kind, kinds.Struct):
        for each in kind.fields:
            inner = kinds.within(path, each.name)
            if each.default is not kinds.REQUIRED:
                try:
                    to_plain(each.type, each.default)
                except BadArgument as error:
                    raise corrupt(f"the default is not valid: {error}", inner) from None
    for part in kind.parts():
        _check_defaults(part, path)


def _count(value: Any) -> int:
    """Return the microseconds of a moment or a duration."""
    found: int = (value - EPOCH if isinstance(value, datetime.datetime) else value) // MICROSECOND
    return found


def value_to_json(kind: kinds.Type, value: Any, moment: Callable[[Any], Any] = _count) -> Any:
    """Return the JSON form of a plain value: of defaults, and in JSON Schema.

    moment: returns the form of a datetime or timedelta."""
    match kind:
        case _ if value is None:
            return None
        case kinds.Nullable(item=item):
            return value_to_json(item, value, moment)
        case kinds.Float():
            return (
                value
                if math.isfinite(value)
                else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
            )
        case kinds.Bytes():
            return base64.b64encode(value).decode()
        case kinds.Timestamp(unit="us") | kinds.Duration(unit="us"):
            return moment(value)
        case kinds.Date():
            return value.isoformat()
        case kinds.Uuid() | kinds.Decimal():
            return str(value)
        case kinds.List(item=item):
            return [value_to_json(item, each, moment) for each in value]
        case kinds.Array(row=inner):
            return [value_to_json(inner, each, moment) for each in value]
        case kinds.Map(item=item):
            return {key: value_to_json(item, each, moment) for key, each in value.items()}
        case kinds.Struct(fields=fields):
            return {each.name: value_to_json(each.type, value[each.name], moment) for each in fields}
    return value


def value_from_json(kind: kinds.Type, found: Any, path: str = "") -> Any:
    """Return the plain value of a default; Corrupt if it is not one. `_check_defaults` checks what is left."""
    try:
        return _value(kind, found)
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, binascii.Error) as error:
        raise corrupt(f"the default {found!s:.60} is not valid: {type(error).__name__}", path) from None


def _value(kind: kinds.Type, found: Any) -> Any:
    match kind:
        case kinds.Nullable(item=item):
            return None if found is None else _value(item, found)
        case kinds.Float():
            if isinstance(found, str):
                return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}[found]
            if type(found) is not float:
                raise TypeError
        case kinds.Int() if type(found) is not int:
            raise TypeError
        case kinds.Bytes():
            return base64.b64decode(found, validate=True)
        case kinds.Timestamp(unit="us"):
            return EPOCH + found * MICROSECOND
        case kinds.Duration(unit="us"):
            return found * MICROSECOND
        case kinds.Date():
            return datetime.date.fromisoformat(found)
        case kinds.Uuid():
            return uuid.UUID(found)
        case kinds.Decimal():
            return decimal.Decimal(found)
        case kinds.List(item=item):
            return [_value(item, each) for each in _sequence(found)]
        case kinds.Array(row=inner):
            return [_value(inner, each) for each in _sequence(found)]
        case kinds.Map(item=item):
            return {key: _value(item, each) for key, each in found.items()}
        case kinds.Struct(fields=fields):
            if len(found) != len(fields):
                raise ValueError
            return {each.name: _value(each.type, found[each.name]) for each in fields}
    return found


def _sequence(found: Any) -> list[Any]:
    if not isinstance(found, list):
        raise TypeError
    return found
