# SPDX-License-Identifier: Apache-2.0
"""Encoding protobuf: a body is one serialized message of the schema's descriptors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument, SchemaMismatch, Undecodable

from .. import bound_classes, packages
from .. import field_types as kinds
from ..plain_values import to_plain
from . import protobuf_types

if TYPE_CHECKING:
    from ..compatibility import View
    from ..topic_schema import Schema


def encoder(schema: Schema) -> Callable[[Any], bytes]:
    """Return the function that encodes a message of the schema's class, or a dict."""
    cls, kind, message = protobuf_types.stored(schema), schema.root, packages.protobuf("message")
    places = protobuf_types.places_of(cls.DESCRIPTOR)
    same: set[type] = {cls}

    def encode(value: Any) -> bytes:
        if type(value) not in same:
            if not isinstance(value, message.Message):
                plain = to_plain(kind, value)
                value = cls()
                _fill(kind, value, plain)
            elif _is_same(schema, places, value.DESCRIPTOR):
                same.add(type(value))
            else:
                text = f"value is a {value.DESCRIPTOR.full_name}, messages of the topic are {schema.extra['message']}"
                raise BadArgument(text, argument="value")
        try:
            data: bytes = value.SerializeToString()
        except (message.EncodeError, ValueError) as error:
            raise BadArgument(f"value cannot be encoded: {error}", argument="value") from None
        return data

    return encode


def _is_same(schema: Schema, places: dict[str, str], descriptor: Any) -> bool:
    if descriptor.full_name != schema.extra["message"]:
        return False
    try:
        return protobuf_types.from_descriptor(descriptor) == schema.root and (
            protobuf_types.places_of(descriptor) == places
        )
    except BadArgument:
        return False


def _fill(kind: kinds.Type, target: Any, values: dict[str, Any]) -> None:
    """Set the fields of a message to plain values."""
    assert isinstance(kind, kinds.Struct)
    for each in kind.fields:
        value = values[each.name]
        if value is None:
            continue
        inner = each.type.item if isinstance(each.type, kinds.Nullable) else each.type
        match inner:
            case kinds.Struct():
                part = getattr(target, each.name)
                part.SetInParent()
                _fill(inner, part, value)
            case kinds.List(item=kinds.Struct() as item):
                for content in value:
                    _fill(item, getattr(target, each.name).add(), content)
            case kinds.List():
                getattr(target, each.name).extend(value)
            case kinds.Map(item=kinds.Struct() as item):
                for key, content in value.items():
                    _fill(item, getattr(target, each.name)[key], content)
            case kinds.Map():
                getattr(target, each.name).update(value)
            case _:
                setattr(target, each.name, value)


def decoder(view: View) -> Callable[[Any], Any]:
    """Return the function that decodes a body into a dict, a message of the subscriber's class, or its object."""
    found, own, bound = view.found, view.own, view.bound
    cls, message = protobuf_types.stored(found), packages.protobuf("message")
    chosen = cls
    if own is not found and bound is None and own.encoding == "protobuf":
        chosen = own.declared or protobuf_types.stored(own)
        _check_numbers(cls.DESCRIPTOR, chosen.DESCRIPTOR)

    def read(body: Any) -> Any:
        try:
            return chosen.FromString(body if type(body) is bytes else bytes(body))
        except (message.DecodeError, ValueError, RecursionError) as error:
            raise Undecodable(f"the body is not a {found.extra['message']}: {error}") from None

    if chosen is not cls or (
        own.declared is not None and bound is None and own.encoding == "protobuf" and own is not found
    ):
        return read
    kind, ours = found.root, own.root
    if bound is None:
        return lambda body: _plain(kind, read(body), "")
    return lambda body: bound_classes.build(ours, bound, _plain(kind, read(body), ""))


def _check_numbers(found: Any, own: Any) -> None:
    theirs = protobuf_types.places_of(found)
    for path, place in protobuf_types.places_of(own).items():
        if theirs.get(path, place) != place:
            text = f"field {path} is {theirs[path]} in the topic and read as {place}"
            raise SchemaMismatch(text, found=theirs[path], asked=place, field=path)


def _plain(kind: kinds.Type, value: Any, path: str) -> Any:
    """Return a message, or a value of one, as a plain value."""
    match kind:
        case kinds.Struct(fields=fields):
            found = {}
            for each in fields:
                inner = kinds.within(path, each.name)
                if isinstance(each.type, kinds.Nullable):
                    present = value.HasField(each.name)
                    found[each.name] = (
                        _plain(each.type.item, getattr(value, each.name), inner) if present else None
                    )
                else:
                    found[each.name] = _plain(each.type, getattr(value, each.name), inner)
            return found
        case kinds.List(item=item):
            if isinstance(item, (kinds.Struct, kinds.Enum)):
                return [_plain(item, each, f"{path}[{at}]") for at, each in enumerate(value)]
            return list(value)
        case kinds.Map(item=item):
            return {key: _plain(item, each, f"{path}[{key!r}]") for key, each in value.items()}
        case kinds.Enum(values=values):
            if all(value != known for _, known in values):
                raise Undecodable(f"{path}={value} is not a value of {kind}", field=path)
            return int(value)
    return value
