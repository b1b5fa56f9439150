# SPDX-License-Identifier: Apache-2.0
"""Protobuf messages as types. The schema of a topic has the descriptors of all files that the message needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument, Corrupt

from .. import field_types as kinds
from .. import packages

if TYPE_CHECKING:
    from ..topic_schema import Schema

# FieldDescriptor.TYPE_*: the numbers of descriptor.proto.
_NUMBERS: dict[int, kinds.Type] = {
    1: kinds.Float(64),
    2: kinds.Float(32),
    3: kinds.Int(64),
    4: kinds.Int(64, False),
    5: kinds.Int(32),
    6: kinds.Int(64, False),
    7: kinds.Int(32, False),
    8: kinds.Bool(),
    9: kinds.Text(),
    12: kinds.Bytes(),
    13: kinds.Int(32, False),
    15: kinds.Int(32),
    16: kinds.Int(64),
    17: kinds.Int(32),
    18: kinds.Int(64),
}
_NAMES = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "fixed64",
    7: "fixed32",
    8: "bool",
    9: "string",
    10: "group",
    11: "message",
    12: "bytes",
    13: "uint32",
    14: "enum",
    15: "sfixed32",
    16: "sfixed64",
    17: "sint32",
    18: "sint64",
}
_GROUP, _MESSAGE, _ENUM = 10, 11, 14


def from_descriptor(descriptor: Any) -> kinds.Struct:
    """Return the type of a message; BadArgument names the field that a schema cannot express."""
    return _message(descriptor, "", ())


def _message(descriptor: Any, path: str, outer: tuple[str, ...]) -> kinds.Struct:
    if descriptor.full_name in outer:
        text = f"field {path}: message {descriptor.full_name} contains itself: a schema has no recursive type"
        raise BadArgument(text, argument=path)
    inner = (*outer, descriptor.full_name)
    fields = sorted(descriptor.fields, key=lambda each: int(each.number))
    return kinds.Struct(tuple(_field(each, path, inner) for each in fields), descriptor.name)


def is_repeated(field: Any) -> bool:
    found = getattr(field, "is_repeated", None)
    return bool(field.label == 3 if found is None else found)


def _is_required(field: Any) -> bool:
    found = getattr(field, "is_required", None)
    return bool(field.label == 2 if found is None else found)


def map_value(field: Any) -> Any:
    """Return the descriptor of the values of a map, or None if the field is not a map."""
    entry = field.message_type
    is_map = entry is not None and entry.GetOptions().map_entry and is_repeated(field)
    return entry.fields_by_name["value"] if is_map else None


def _field(field: Any, path: str, outer: tuple[str, ...]) -> kinds.Field:
    inner = kinds.within(path, field.name)
    why = kinds.bad_name(field.name)
    if field.type == _GROUP:
        why = "a group is not a type of a schema: use a message"
    value = map_value(field)
    if value is not None and field.message_type.fields_by_name["key"].type != 9:
        why = "the keys of a map are string"
    if why:
        raise BadArgument(f"field {inner}: {why}", argument=inner)
    if value is not None:
        return kinds.Field(field.name, kinds.Map(_type(value, f"{inner}[]", outer)), {})
    if is_repeated(field):
        return kinds.Field(field.name, kinds.List(_type(field, f"{inner}[]", outer)), [])
    kind = _type(field, inner, outer)
    if _is_required(field):
        return kinds.Field(field.name, kind, kinds.REQUIRED)
    if field.has_presence:
        return kinds.Field(field.name, kinds.Nullable(kind), None)
    return kinds.Field(field.name, kind, field.default_value)


def _type(field: Any, path: str, outer: tuple[str, ...]) -> kinds.Type:
    if field.type == _MESSAGE:
        return _message(field.message_type, path, outer)
    if field.type == _ENUM:
        values: dict[int, str] = {}
        for each in field.enum_type.values:
            values.setdefault(each.number, each.name)  # the first of several names
        return kinds.Enum(tuple((name, number) for number, name in values.items()), field.enum_type.name)
    return _NUMBERS[field.type]


def to_bytes(descriptor: Any) -> bytes:
    """Return a FileDescriptorSet with the file of a message and all files it imports, imported ones first."""
    pb2 = packages.protobuf("descriptor_pb2")
    found, known = pb2.FileDescriptorSet(), set()

    def add(file: Any) -> None:
        if file.name in known:
            return
        known.add(file.name)
        for each in file.dependencies:
            add(each)
        file.CopyToProto(found.file.add())
        found.file[-1].ClearField("source_code_info")

    add(descriptor.file)
    data: bytes = found.SerializeToString(deterministic=True)
    return data


def stored(schema: Schema) -> Any:
    """Return the message class of a schema of encoding protobuf; Corrupt if it does not have its type."""
    pb2, pools = packages.protobuf("descriptor_pb2"), packages.protobuf("descriptor_pool")
    message, factory = packages.protobuf("message"), packages.protobuf("message_factory")
    try:
        files = pb2.FileDescriptorSet.FromString(schema.extra["descriptors"])
        pool = pools.DescriptorPool()
        for each in files.file:
            pool.Add(each)
        descriptor = pool.FindMessageTypeByName(schema.extra["message"])
        same = from_descriptor(descriptor) == schema.root
    except (message.DecodeError, TypeError, KeyError, ValueError, RecursionError) as error:
        text = f"the schema's Protobuf descriptors are not valid: {error}"
        raise Corrupt(text, argument="schema") from None
    if not same:
        raise Corrupt(
            "the schema's Protobuf descriptors do not have the type of the schema", argument="schema"
        )
    return factory.GetMessageClass(descriptor)


def places(schema: Schema) -> dict[str, str]:
    """Return number and form of each field."""
    return places_of(stored(schema).DESCRIPTOR)


def places_of(descriptor: Any, path: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for each in descriptor.fields:
        inner = kinds.within(path, each.name)
        found[inner] = f"{_NAMES[each.type]} number {each.number}"
        value = map_value(each)
        if value is not None:
            found[inner] += f" of {_NAMES[value.type]}"
        part = value if value is not None else each
        if part.message_type is not None:
            found |= places_of(part.message_type, inner)
    return found
