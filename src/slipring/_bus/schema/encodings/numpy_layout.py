# SPDX-License-Identifier: Apache-2.0
"""numpy dtypes as types, and back: fixed layouts, with the offset of each field.

A schema of encoding numpy has a `layout`: one list for each structure, in the order of the document, with its size and
the offsets of its fields. Numbers are little-endian; padding has any contents.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, Final

from slipring.errors import BadArgument, Corrupt

from .. import field_types as kinds
from .. import packages
from ..schema_document import corrupt

if TYPE_CHECKING:
    from ..topic_schema import Schema

MOST_BYTES: Final = (1 << 31) - 1  # of an element, as in numpy
_ALLOWED = (
    "i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8, ?, S, U, V, M8[us], M8[ns], m8[us], m8[ns], structures and subarrays "
    "of these"
)


def from_dtype(dtype: Any) -> tuple[kinds.Type, list[list[int]]]:
    """Return the type and the layout of a dtype; BadArgument names the field that a schema cannot express."""
    layout: list[list[int]] = []
    kind = _type(dtype, "", layout)
    return kind, layout


def _type(dtype: Any, path: str, layout: list[list[int]]) -> kinds.Type:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        item = _type(base, f"{path}[]", layout)
        if isinstance(item, kinds.Array):
            return kinds.Array(item.item, (*shape, *item.shape))
        return kinds.Array(item, tuple(int(size) for size in shape))
    if dtype.names is not None:
        return _structure(dtype, path, layout)
    if dtype.byteorder == ">" or (sys.byteorder == "big" and dtype.byteorder == "="):
        _refuse(path, f"dtype {dtype} is big-endian: fixed layouts are little-endian")
    size, unit = dtype.itemsize, ""
    if dtype.kind in "mM":
        unit, count = packages.numpy().datetime_data(dtype)
        if count != 1 or unit not in ("us", "ns"):
            _refuse(path, f"dtype {dtype} counts in {count} {unit}: allowed are us and ns")
    if size == 0:
        _refuse(path, f"dtype {dtype} has no bytes: give it a size")
    match dtype.kind:
        case "i" | "u":
            return kinds.Int(8 * size, dtype.kind == "i")
        case "f" if size <= 8:
            return kinds.Float(8 * size)
        case "b":
            return kinds.Bool()
        case "S":
            return kinds.Bytes(most=size)
        case "V":
            return kinds.Bytes(size)
        case "U":
            return kinds.Text(size // 4)
        case "M":
            return kinds.Timestamp(unit)
        case "m":
            return kinds.Duration(unit)
    _refuse(path, f"dtype {dtype} is not a type of a schema: allowed are {_ALLOWED}")
    raise AssertionError


def _refuse(path: str, why: str) -> None:
    raise BadArgument(f"field {path}: {why}" if path else why, argument=path or "schema")


def _structure(dtype: Any, path: str, layout: list[list[int]]) -> kinds.Struct:
    place: list[int] = [dtype.itemsize]
    layout.append(place)
    fields, end = [], 0
    for name, (kind, offset, *_) in sorted(dtype.fields.items(), key=lambda item: item[1][1]):
        inner = kinds.within(path, name)
        why = kinds.bad_name(name)
        if why:
            _refuse(inner, why)
        if name not in dtype.names:
            _refuse(inner, "it is a title of another field, which a schema does not have")
        if offset < end:
            _refuse(inner, f"its offset {offset} is inside the field before it")
        end = offset + kind.itemsize
        fields.append(kinds.Field(name, _type(kind, inner, layout)))
        place.append(offset)
    if [each.name for each in fields] != list(dtype.names):
        _refuse(path, "the fields are not in the order of their offsets: sort them")
    return kinds.Struct(tuple(fields), path.rpartition(".")[2].removesuffix("[]"))


def check_offsets(root: kinds.Type, layout: list[Any]) -> None:
    """Check the layout of a schema from bytes; Corrupt names the field that does not fit."""
    rest = iter(layout)
    size = _size(root, rest, "")
    if next(rest, None) is not None:
        raise corrupt("the layout has more structures than the type")
    if size > MOST_BYTES:
        raise corrupt(f"a message has {size} bytes, at most {MOST_BYTES} are allowed")


def _size(kind: kinds.Type, layout: Any, path: str) -> int:
    match kind:
        case kinds.Array(item=item, shape=shape):
            return _size(item, layout, f"{path}[]") * math.prod(shape)
        case kinds.Struct(fields=fields):
            place = next(layout, None)
            if (
                not isinstance(place, list)
                or len(place) != len(fields) + 1
                or any(type(x) is not int for x in place)
            ):
                raise corrupt(f"the layout of {kind} is not its size and {len(fields)} offsets", path)
            end = 0
            for each, offset in zip(fields, place[1:], strict=True):
                inner = kinds.within(path, each.name)
                if offset < end:
                    raise corrupt(f"its offset {offset} is inside the field before it", inner)
                end = offset + _size(each.type, layout, inner)
                if end > place[0]:
                    raise corrupt(f"it ends at {end}, behind the {place[0]} bytes of its structure", inner)
            return int(place[0])
        case kinds.Int(bits=bits) | kinds.Float(bits=bits):
            return bits // 8
        case kinds.Bool():
            return 1
        case kinds.Bytes(size=size) if size is not None:
            return size
        case kinds.Bytes(most=most) if most is not None:
            return most
        case kinds.Text(most=most) if most is not None:
            return 4 * most
        case kinds.Timestamp() | kinds.Duration():
            return 8
    raise corrupt(f"{kind} has no fixed size", path)


def to_dtype(schema: Schema, *, codes: bool = False) -> Any:
    """Return the dtype of the messages of a schema of encoding numpy. codes: with numbers in place of characters."""
    try:
        return packages.numpy().dtype(_describe(schema.root, iter(schema.extra["layout"]), codes))
    except (ValueError, TypeError) as error:
        raise Corrupt(f"the schema's layout is not a numpy dtype: {error}", argument="schema") from None


def _describe(kind: kinds.Type, layout: Any, codes: bool) -> Any:
    match kind:
        case kinds.Struct(fields=fields):
            place = next(layout)
            formats = [_describe(each.type, layout, codes) for each in fields]
            names = [each.name for each in fields]
            return {"names": names, "formats": formats, "offsets": place[1:], "itemsize": place[0]}
        case kinds.Array(item=item, shape=shape):
            return packages.numpy().dtype((_describe(item, layout, codes), shape))
        case kinds.Text(most=most) if codes:
            return packages.numpy().dtype(("<u4", (most,)))
    return packages.numpy().dtype(scalar_code(kind))


def scalar_code(kind: kinds.Type) -> str:
    match kind:
        case kinds.Int(bits=bits, signed=signed):
            return f"<{'i' if signed else 'u'}{bits // 8}"
        case kinds.Float(bits=bits):
            return f"<f{bits // 8}"
        case kinds.Bytes(size=size) if size is not None:
            return f"V{size}"
        case kinds.Bytes(most=most):
            return f"S{most}"
        case kinds.Text(most=most):
            return f"<U{most}"
        case kinds.Timestamp(unit=unit):
            return f"<M8[{unit}]"
        case kinds.Duration(unit=unit):
            return f"<m8[{unit}]"
    return "?"


def has_text(kind: kinds.Type) -> bool:
    return isinstance(kind, kinds.Text) or any(has_text(part) for part in kind.parts())


def places(schema: Schema) -> dict[str, str]:
    """Return the offset of each field, and the size of each structure."""
    found: dict[str, str] = {}
    _places(schema.root, iter(schema.extra["layout"]), "", found)
    return found


def _places(kind: kinds.Type, layout: Any, path: str, found: dict[str, str]) -> None:
    if isinstance(kind, kinds.Array):
        _places(kind.item, layout, f"{path}[]", found)
    elif isinstance(kind, kinds.Struct):
        size, *offsets = next(layout)
        found[path] = f"{size} bytes"
        for each, offset in zip(kind.fields, offsets, strict=True):
            inner = kinds.within(path, each.name)
            _places(each.type, layout, inner, found)
            found[inner] = f"{each.type} at byte {offset}"
