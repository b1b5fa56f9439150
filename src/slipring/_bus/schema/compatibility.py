# SPDX-License-Identifier: Apache-2.0
"""Which schemas go together: one for all publishers of a topic, and a class of its own for each subscriber.

The rules are docs/spec/schema.md section 6. Both functions raise SchemaMismatch, which names the first field that
differs, with the type in the topic (`found`) and the type asked for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slipring.errors import SchemaMismatch

from . import field_types as kinds
from .bound_classes import Bound
from .topic_schema import Schema

_ABSENT = "no such field"


def check_same(found: Schema, asked: Schema) -> None:
    """Refuse a schema that is not the topic's. Names of schemas, structures and enums may differ."""
    if found == asked:
        return
    if found.encoding != asked.encoding:
        raise _mismatch("", f"encoding {found.encoding}", f"encoding {asked.encoding}")
    for path, one, other in _differences(found.root, asked.root, ""):
        raise _mismatch(path, one, other)
    for path, one, other in _layout_differences(found, asked):
        raise _mismatch(path, one, other)


@dataclass(frozen=True, slots=True)
class View:
    """What a subscriber reads of a topic: the topic's schema, and its own.

    bound: how its objects are made; None: plain values. shared: the fields of both, as the topic has them.
    native: msgspec can decode into the class at once.
    """

    found: Schema
    own: Schema
    bound: Bound | None
    shared: kinds.Type
    shared_bound: Bound
    native: bool


def view(found: Schema, own: Schema | None = None) -> View:
    """Return the view of a topic through a subscriber's schema; SchemaMismatch if it does not fit.

    own: None for plain values. Its encoding does not count: a dataclass can read a topic of any encoding.
    """
    if own is None:
        return View(found, found, None, found.root, Bound(), False)
    for path, one, other in _unreadable(found.root, own.root, ""):
        raise _mismatch(path, one, other, "read as")
    bound = own.bound
    if bound is None:
        return View(found, own, None, found.root, Bound(), False)
    shared, shared_bound = _shared(found.root, own.root, bound)
    native = bound.native and _same_defaults(found.root, own.root)
    return View(found, own, bound, shared, shared_bound, native)


def _mismatch(path: str, found: str, asked: str, verb: str = "asked for as") -> SchemaMismatch:
    what = f"field {path}" if path else "the message"
    text = f"{what} is {found} in the topic and {verb} {asked}"
    if found == _ABSENT:
        text = f"{what} is not in the topic, and is {asked}" + (
            ", which has no default" * (verb == "read as")
        )
    elif asked == _ABSENT:
        text = f"{what} is {found} in the topic, and is missing in the schema asked for"
    return SchemaMismatch(text, found=found, asked=asked, field=path)


_Difference = tuple[str, str, str]


def _differences(found: kinds.Type, asked: kinds.Type, path: str) -> Iterator[_Difference]:
    """Return path and both types where two types differ."""
    if found == asked:
        return
    match found, asked:
        case kinds.Struct(), kinds.Struct():
            yield from _field_differences(found.fields, asked.fields, path)
        case (kinds.List(item=one), kinds.List(item=other)) | (kinds.Map(item=one), kinds.Map(item=other)):
            yield from _differences(one, other, f"{path}[]")
        case kinds.Array(), kinds.Array() if found.shape == asked.shape:
            yield from _differences(found.item, asked.item, f"{path}[]")
        case kinds.Nullable(item=kinds.Struct() as one), kinds.Nullable(item=kinds.Struct() as other):
            yield from _differences(one, other, path)
        case _:
            yield path, str(found), str(asked)


def _field_differences(
    found: tuple[kinds.Field, ...], asked: tuple[kinds.Field, ...], path: str
) -> Iterator[_Difference]:
    ours = {each.name: each for each in asked}
    for each in found:
        if each.name not in ours:
            yield kinds.within(path, each.name), str(each), _ABSENT
    theirs = {each.name: each for each in found}
    for each in asked:
        if each.name not in theirs:
            yield kinds.within(path, each.name), _ABSENT, str(each)
    for at, (one, other) in enumerate(zip(found, asked, strict=False)):
        if one.name != other.name:
            yield (
                kinds.within(path, one.name),
                f"field {at + 1}",
                f"field {1 + [x.name for x in asked].index(one.name)}",
            )
        yield from _differences(one.type, other.type, kinds.within(path, one.name))
        if one != other:
            yield kinds.within(path, one.name), str(one), str(other)


def _layout_differences(found: Schema, asked: Schema) -> Iterator[_Difference]:
    """Return path and both layouts where messages of equal types have other bytes."""
    if found.extra == asked.extra:
        return
    one, other = _layout(found), _layout(asked)
    for path in {**one, **other}:
        if one.get(path) != other.get(path):
            yield path, str(one.get(path)), str(other.get(path))


def _layout(schema: Schema) -> dict[str, str]:
    """Return what decides the bytes of a message besides its type, for the path of each field."""
    if schema.encoding == "numpy":
        from .encodings import numpy_layout

        return numpy_layout.places(schema)
    if schema.encoding == "arrow":
        from .encodings import arrow_types

        return arrow_types.places(schema)
    if schema.encoding == "protobuf":
        from .encodings import protobuf_types

        return protobuf_types.places(schema)
    from .encodings import flatbuffers_types

    return flatbuffers_types.places(schema)


def _unreadable(found: kinds.Type, own: kinds.Type, path: str) -> Iterator[_Difference]:
    """Return path and both types where values of a type cannot be read as the other."""
    match found, own:
        case _ if found == own:
            return
        case kinds.Struct(), kinds.Struct():
            theirs = {each.name: each for each in found.fields}
            for each in own.fields:
                inner = kinds.within(path, each.name)
                if each.name in theirs:
                    yield from _unreadable(theirs[each.name].type, each.type, inner)
                elif each.default is kinds.REQUIRED:
                    yield inner, _ABSENT, str(each)
        case kinds.Nullable(), kinds.Nullable():
            yield from _unreadable(found.item, own.item, path)
        case _, kinds.Nullable():
            yield from _unreadable(found, own.item, path)
        case (kinds.List(item=one), kinds.List(item=other)) | (kinds.Map(item=one), kinds.Map(item=other)):
            yield from _unreadable(one, other, f"{path}[]")
        case kinds.Array(), kinds.Array() if found.shape == own.shape:
            yield from _unreadable(found.item, own.item, f"{path}[]")
        case kinds.Array(row=row), kinds.List():
            yield from _unreadable(row, own.item, f"{path}[]")
        case _ if not _widens(found, own):
            yield path, str(found), str(own)


def _widens(found: kinds.Type, own: kinds.Type) -> bool:
    """Return whether each value of a type without parts is a value of the other."""
    match found, own:
        case kinds.Int(), kinds.Int():
            return own.lowest <= found.lowest and found.highest <= own.highest
        case kinds.Float(), kinds.Float():
            return found.bits <= own.bits
        case kinds.Decimal(), kinds.Decimal():
            return found.scale <= own.scale and found.precision - found.scale <= own.precision - own.scale
        case kinds.Enum(), kinds.Enum():
            return {value for _, value in found.values} <= {value for _, value in own.values}
        case (kinds.Text(), kinds.Text(most=None)) | (kinds.Bytes(), kinds.Bytes(size=None, most=None)):
            return True
    return False


def _shared(found: kinds.Type, own: kinds.Type, bound: Bound) -> tuple[kinds.Type, Bound]:
    """Return the type of the topic, without the fields that the class lacks, and the class without its other fields."""
    match found, own:
        case kinds.Struct(), kinds.Struct():
            theirs = {each.name: each for each in found.fields}
            fields, parts = [], []
            for each, part in zip(own.fields, bound.parts, strict=True):
                if each.name in theirs:
                    kind, inner = _shared(theirs[each.name].type, each.type, part)
                    fields.append(dataclasses.replace(theirs[each.name], type=kind))
                    parts.append(inner)
            return kinds.Struct(tuple(fields), found.name), dataclasses.replace(bound, parts=tuple(parts))
        case kinds.Nullable(), kinds.Nullable():
            kind, inner = _shared(found.item, own.item, bound.parts[0])
            return kinds.Nullable(kind), dataclasses.replace(bound, parts=(inner,))
        case _, kinds.Nullable():
            return _shared(found, own.item, bound.parts[0])
        case (
            (kinds.List() as holder, kinds.List(item=item))
            | (kinds.Map() as holder, kinds.Map(item=item))
            | (
                kinds.Array() as holder,
                kinds.Array(item=item),
            )
        ):
            kind, inner = _shared(holder.item, item, bound.parts[0])
            return dataclasses.replace(holder, item=kind), dataclasses.replace(bound, parts=(inner,))
        case kinds.Array(row=row), kinds.List(item=item):
            kind, inner = _shared(row, item, bound.parts[0])
            return kinds.List(kind), dataclasses.replace(bound, parts=(inner,))
    return found, bound


def _same_defaults(found: kinds.Type, own: kinds.Type) -> bool:
    """Return whether fields of both have the same default: a body may leave them out."""
    if isinstance(found, kinds.Struct) and isinstance(own, kinds.Struct):
        theirs: dict[str, Any] = {each.name: each for each in found.fields}
        for each in own.fields:
            if each.name in theirs:
                other = theirs[each.name]
                if (
                    kinds.default_text(other.default) != kinds.default_text(each.default)
                    and other.default is not kinds.REQUIRED
                ):
                    return False
                if other.default is kinds.REQUIRED and each.default is not kinds.REQUIRED:
                    return False
                if not _same_defaults(other.type, each.type):
                    return False
        return True
    return all(_same_defaults(one, other) for one, other in zip(found.parts(), own.parts(), strict=False))
