# SPDX-License-Identifier: Apache-2.0
"""How objects of a program hold the values of a schema: which class, attributes or keys, list or tuple.

A Bound has the same tree as its type. `native` means that msgspec encodes and decodes these objects exactly as
docs/spec/schema.md has it; all others go through plain values.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slipring.errors import Undecodable

from . import field_types as kinds

# The class that values of a type have in Python. Annotated[int, "int32"] annotates such a class with a type.
PYTHON_CLASSES: dict[type[kinds.Type], type] = {
    kinds.Int: int,
    kinds.Float: float,
    kinds.Bool: bool,
    kinds.Text: str,
    kinds.Bytes: bytes,
    kinds.Date: datetime.date,
    kinds.Uuid: uuid.UUID,
    kinds.Decimal: decimal.Decimal,
}


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """One type as a program sees it.

    cls: the class of a structure or an enum; None: a dict, or a plain value
    attributes: fields are attributes of the object, not keys
    annotation: what msgspec decodes into, where native
    sequence: what a list or an array is built as
    convert: makes the program's value from a plain one
    """

    cls: Any = None
    attributes: bool = False
    native: bool = True
    annotation: Any = None
    sequence: type = list
    convert: Callable[[Any], Any] | None = None
    parts: tuple[Bound, ...] = ()


def plain(kind: kinds.Type) -> Bound:
    """Return the Bound of plain values: dicts, lists, numbers, text."""
    return Bound(parts=tuple(plain(part) for part in kind.parts()))


def build(kind: kinds.Type, bound: Bound, value: Any, path: str = "") -> Any:
    """Return the program's object for a plain value of this type.

    kind is the type of the program's own schema; a field that the value does not have takes its default. Any exception
    of the program's class becomes Undecodable.
    """
    match kind:
        case kinds.Nullable(item=item):
            return None if value is None else build(item, bound.parts[0], value, path)
        case kinds.Struct(fields=fields):
            values = {
                each.name: _field(each, inner, value, path)
                for each, inner in zip(fields, bound.parts, strict=True)
            }
            return values if bound.cls is None else _call(bound.cls, path, values)
        case kinds.List(item=item):
            inner = bound.parts[0]
            return bound.sequence(
                [build(item, inner, each, f"{path}[{at}]") for at, each in enumerate(value)]
            )
        case kinds.Array(item=item, shape=shape):
            return _array(item, len(shape), bound, value, path)
        case kinds.Map(item=item):
            inner = bound.parts[0]
            return {key: build(item, inner, each, f"{path}[{key!r}]") for key, each in value.items()}
        case kinds.Enum() if bound.cls is not None:
            return _call(bound.cls, path, value)
    return value if bound.convert is None else _call(bound.convert, path, value)


def _field(each: kinds.Field, bound: Bound, values: Any, path: str) -> Any:
    value = values.get(each.name, kinds.REQUIRED)
    if value is kinds.REQUIRED:
        value = each.default
    if value is kinds.REQUIRED:
        raise Undecodable(f"{kinds.within(path, each.name)} is missing", field=kinds.within(path, each.name))
    return build(each.type, bound, value, kinds.within(path, each.name))


def _array(item: kinds.Type, dimensions: int, bound: Bound, value: Any, path: str) -> Any:
    inner = bound.parts[0]
    if dimensions > 1:
        return bound.sequence(
            [_array(item, dimensions - 1, bound, each, f"{path}[{at}]") for at, each in enumerate(value)]
        )
    return bound.sequence([build(item, inner, each, f"{path}[{at}]") for at, each in enumerate(value)])


def _call(maker: Any, path: str, value: Any) -> Any:
    try:
        return maker(**value) if type(value) is dict else maker(value)
    except Exception as error:  # a class of the program may raise anything
        name = getattr(maker, "__name__", str(maker))
        where = f"{path}: " if path else ""
        text = f"{where}{name} refuses {value!r:.80}: {type(error).__name__}: {error}"
        raise Undecodable(text, field=path) from error
