# SPDX-License-Identifier: Apache-2.0
"""msgpack that was decoded without a type, made ready for plain_values.to_plain.

Contract: only what msgpack carries as text, and the forms of structures, are converted. All that does not fit stays as
it was found, so that to_plain names it with its path.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

from .. import field_types as kinds
from .. import packages
from ..bound_classes import Bound

_AS_TEXT: dict[kinds.Type | type[kinds.Type], type] = {
    kinds.Uuid: uuid.UUID,
    kinds.Decimal: decimal.Decimal,
    kinds.Date: datetime.date,
    kinds.Timestamp(): datetime.datetime,
    kinds.Duration(): datetime.timedelta,
}


def from_untyped(kind: kinds.Type, bound: Bound, value: Any) -> Any:
    """Return what to_plain takes for this value: fields that the type does not have are left out."""
    match kind:
        case kinds.Nullable(item=item):
            return None if value is None else from_untyped(item, bound.parts[0], value)
        case kinds.Struct():
            return _structure(kind, bound, value)
        case kinds.List(item=item) if isinstance(value, list):
            return [from_untyped(item, bound.parts[0], each) for each in value]
        case kinds.Array(row=row) if isinstance(value, list):
            inner = bound if isinstance(row, kinds.Array) else bound.parts[0]
            return [from_untyped(row, inner, each) for each in value]
        case kinds.Map(item=item) if isinstance(value, dict):
            return {key: from_untyped(item, bound.parts[0], each) for key, each in value.items()}
    cls = _AS_TEXT.get(type(kind)) or _AS_TEXT.get(kind)
    return value if cls is None or not isinstance(value, str) else _parsed(cls, value)


def _structure(kind: kinds.Struct, bound: Bound, value: Any) -> Any:
    is_tuple = bound.cls is not None and issubclass(bound.cls, tuple)
    if is_tuple and isinstance(value, list) and len(value) == len(kind.fields):
        value = {each.name: item for each, item in zip(kind.fields, value, strict=True)}
    if not isinstance(value, dict):
        return value
    return {
        each.name: from_untyped(each.type, part, value[each.name])
        for each, part in zip(kind.fields, bound.parts, strict=True)
        if each.name in value
    }


def _parsed(cls: type, text: str) -> Any:
    msgspec = packages.msgspec()
    try:
        return msgspec.convert(text, cls)
    except msgspec.ValidationError:
        return text
