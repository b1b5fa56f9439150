# SPDX-License-Identifier: Apache-2.0
"""FlatBuffers schemas (.bfbs) as types. The numbers below are those of its own schema, reflection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from slipring.errors import BadArgument, Corrupt

from .. import field_types as kinds
from . import flatbuffers_tables
from .flatbuffers_tables import Buffer, Malformed, Table

if TYPE_CHECKING:
    from ..topic_schema import Schema

_SCALARS: Final = {
    2: "bool", 3: "int8", 4: "uint8", 5: "int16", 6: "uint16", 7: "int32", 8: "uint32", 9: "int64", 10: "uint64",
    11: "float32", 12: "float64",
}  # fmt: skip
_STRING, _VECTOR, _OBJECT, _ARRAY = 13, 14, 15, 17
_REFUSED: Final = {1: "the type of a union", 16: "a union", 18: "a vector with 64-bit offsets"}
_MOST_OBJECTS: Final = 4096
_MOST_SLOTS: Final = 1 << 14  # sizes and offsets of a table have 16 bits
_MOST_TABLE: Final = 60_000


@dataclass(slots=True)
class FlatField:
    """A field as its bytes are: base and element are "string", "vector", "object", "array" or a scalar."""

    name: str
    number: int
    offset: int  # in a structure
    base: str
    element: str
    length: int  # of an array
    shape: FlatObject | None  # of an object, or of the objects in a vector or an array
    kind: kinds.Type
    default: Any  # of a scalar; REQUIRED: the field must be there; None: it may be absent


@dataclass(slots=True)
class FlatObject:
    name: str
    inline: bool  # a FlatBuffers struct, not a table
    size: int
    alignment: int
    fields: list[FlatField] = field(default_factory=list)
    slots: int = 0  # of the table's vtable


@dataclass(slots=True)
class FlatSchema:
    root: FlatObject
    kind: kinds.Struct
    identifier: bytes


def from_bfbs(data: bytes) -> tuple[kinds.Struct, str]:
    """Return the type of the root table and its name; BadArgument names the field that a schema cannot express."""
    try:
        parsed = _Parser(data).schema()
    except (Malformed, UnicodeDecodeError) as error:
        raise BadArgument(f"schema= is not a FlatBuffers .bfbs: {error}", argument="schema") from None
    return parsed.kind, parsed.root.name.rpartition(".")[2]


def stored(schema: Schema) -> FlatSchema:
    """Return the parsed .bfbs in a schema of encoding flatbuffers; Corrupt if it does not have its type."""
    try:
        parsed = _Parser(schema.extra["bfbs"]).schema()
    except (Malformed, BadArgument) as error:
        raise Corrupt(f"the schema's .bfbs is not valid: {error}", argument="schema") from None
    if parsed.kind != schema.root:
        raise Corrupt("the schema's .bfbs does not have the type of the schema", argument="schema")
    return parsed


def places(schema: Schema) -> dict[str, str]:
    """Return number and form of each field."""
    found: dict[str, str] = {}
    parsed = stored(schema)
    found[""] = f"identifier {parsed.identifier!r}"
    _places(parsed.root, "", found)
    return found


def _places(shape: FlatObject, path: str, found: dict[str, str]) -> None:
    for each in shape.fields:
        inner = kinds.within(path, each.name)
        where = f"at byte {each.offset}" if shape.inline else f"number {each.number}"
        form = f" of {each.element}" if each.base in ("vector", "array") else ""
        found[inner] = f"{each.base}{form} {where}"
        if each.shape is not None:
            found[inner] += f", {'struct' if each.shape.inline else 'table'} of {each.shape.size} bytes"
            _places(each.shape, inner, found)


class _Parser:
    def __init__(self, data: bytes) -> None:
        self._buffer = Buffer(data)
        self._root = Table(self._buffer, self._buffer.target(0))
        if data[4:8] != b"BFBS":
            raise Malformed("the bytes do not have the identifier BFBS")
        self._objects = list(self._root.tables(0))
        self._enums = list(self._root.tables(1))
        self._count = 0

    def schema(self) -> FlatSchema:
        at = self._root.place(4)
        if not at:
            raise Malformed("it has no root_type")
        shape, kind = self._object(self._buffer.table(at), "", ())
        if shape.inline:
            raise Malformed("its root_type is not a table")
        identifier = self._root.text(2).encode() if self._root.place(2) else b""
        if len(identifier) not in (0, 4):
            raise Malformed(f"its file_identifier {identifier!r} does not have 4 bytes")
        return FlatSchema(shape, kind, identifier)

    def _object(self, table: Table, path: str, outer: tuple[str, ...]) -> tuple[FlatObject, kinds.Struct]:
        name = table.text(0)
        self._count += 1
        if name in outer:
            raise BadArgument(
                f"field {path}: table {name} contains itself: a schema has no recursive type", argument=path
            )
        if self._count > _MOST_OBJECTS:
            raise BadArgument(f"the schema uses more than {_MOST_OBJECTS} tables", argument="schema")
        inline = bool(table.scalar(2, "bool"))
        shape = FlatObject(name, inline, table.scalar(4, "int32"), table.scalar(3, "int32"))
        fields = []
        for each in sorted(table.tables(1), key=lambda one: int(one.scalar(2, "uint16"))):
            shape.slots = max(shape.slots, each.scalar(2, "uint16") + 1)
            if not each.scalar(6, "bool"):  # deprecated
                found, default = self._field(each, inline, path, (*outer, name))
                shape.fields.append(found)
                fields.append(kinds.Field(found.name, found.kind, default))
        if inline:
            _check_inline(shape)
        else:
            _check_table(shape)
        return shape, kinds.Struct(tuple(fields), name.rpartition(".")[2])

    def _field(self, table: Table, inline: bool, path: str, outer: tuple[str, ...]) -> tuple[FlatField, Any]:
        name = table.text(0)
        inner = kinds.within(path, name)
        if kinds.bad_name(name):
            raise BadArgument(f"field {inner}: {kinds.bad_name(name)}", argument=inner)
        at = table.place(1)
        if not at:
            raise Malformed(f"field {inner} has no type")
        kind_of = self._buffer.table(at)
        code, element, index = (
            kind_of.scalar(0, "int8"),
            kind_of.scalar(1, "int8"),
            kind_of.scalar(2, "int32", -1),
        )
        for each in (code, element if code in (_VECTOR, _ARRAY) else 0):
            if each in _REFUSED:
                text = f"field {inner}: {_REFUSED[each]} is not a type of a schema: use a table with optional fields"
                raise BadArgument(text, argument=inner)
        found = FlatField(
            name, table.scalar(2, "uint16"), table.scalar(3, "uint16"), _form(code, inner), "",
            kind_of.scalar(3, "uint16"), None, kinds.Bool(), kinds.REQUIRED,
        )  # fmt: skip
        single = code not in (_VECTOR, _ARRAY)
        found.element = found.base if single else _form(element, inner)
        kind = self._item(found, index, inner, outer)
        required = inline or bool(table.scalar(7, "bool"))
        if found.base in _SCALARS.values():
            return self._scalar(found, kind, table, inline)
        if found.base == "array" and not inline:
            raise Malformed(f"field {inner} is an array outside of a struct")
        if found.base == "array":
            kind = kinds.Array(kind, (found.length,))
        elif found.base == "vector":
            kind = (
                kinds.Bytes()
                if found.element == "uint8" and kind == kinds.Int(8, False)
                else kinds.List(kind)
            )
        found.kind = kind if required else kinds.Nullable(kind)
        found.default = kinds.REQUIRED if required else None
        return found, found.default

    def _scalar(
        self, found: FlatField, kind: kinds.Type, table: Table, inline: bool
    ) -> tuple[FlatField, Any]:
        if inline:
            found.kind = kind
            return found, kinds.REQUIRED
        if table.scalar(11, "bool"):  # optional
            found.kind, found.default = kinds.Nullable(kind), None
            return found, None
        number = (
            table.scalar(5, "float64", 0.0) if found.base.startswith("float") else table.scalar(4, "int64")
        )
        default: Any = bool(number) if found.base == "bool" else number
        if found.base == "uint64":
            default %= 1 << 64
        if isinstance(kind, kinds.Enum) and default not in {value for _, value in kind.values}:
            kind = _number(found.base)
        if isinstance(kind, kinds.Int) and not kind.lowest <= default <= kind.highest:
            raise Malformed(f"the default {default} of field {found.name} does not fit {kind}")
        found.kind, found.default = kind, default
        return found, default

    def _item(self, found: FlatField, index: int, path: str, outer: tuple[str, ...]) -> kinds.Type:
        if found.element == "string":
            return kinds.Text()
        if found.element == "object":
            if not 0 <= index < len(self._objects):
                raise Malformed(f"field {path} has no object")
            found.shape, kind = self._object(self._objects[index], path, outer)
            return kind
        if found.element in ("vector", "array"):
            raise Malformed(f"field {path} is a vector of vectors")
        return self._enum(index, found.element) if index >= 0 else _number(found.element)

    def _enum(self, index: int, base: str) -> kinds.Type:
        if index >= len(self._enums):
            raise Malformed(f"there is no enum {index}")
        table = self._enums[index]
        values = tuple((each.text(0), each.scalar(1, "int64")) for each in table.tables(1))
        numbers = {value for _, value in values}
        # flatc leaves the attribute bit_flags out. Values of flags are powers of two, and can be combined.
        flags = 0 not in numbers and all(number & (number - 1) == 0 for number in numbers)
        kind = _number(base)
        fits = isinstance(kind, kinds.Int) and all(
            kind.lowest <= number <= kind.highest for number in numbers
        )
        if flags or not values or not fits or base == "uint64" or len(numbers) < len(values):
            return _number(base)
        return kinds.Enum(values, table.text(0).rpartition(".")[2])


def _form(code: int, path: str) -> str:
    found = _SCALARS.get(code) or {
        _STRING: "string",
        _VECTOR: "vector",
        _OBJECT: "object",
        _ARRAY: "array",
    }.get(code)
    if found is None:
        raise Malformed(f"field {path} has the unknown type {code}")
    return found


def _number(base: str) -> kinds.Type:
    if base == "bool":
        return kinds.Bool()
    if base.startswith("float"):
        return kinds.Float(int(base[5:]))
    return kinds.Int(int(base.lstrip("uint")), not base.startswith("u"))


def _check_table(shape: FlatObject) -> None:
    """Refuse a table whose messages cannot be written."""
    size = sum(item_size(each) + item_alignment(each) for each in shape.fields)
    if shape.slots > _MOST_SLOTS or size > _MOST_TABLE:
        raise Malformed(
            f"table {shape.name} has more than {_MOST_SLOTS} fields, or more than {_MOST_TABLE} bytes"
        )
    if len({each.number for each in shape.fields}) < len(shape.fields):
        raise Malformed(f"two fields of table {shape.name} have one number")


def _check_inline(shape: FlatObject) -> None:
    """Refuse a struct whose fields are not inside of it, side by side."""
    if not 0 < shape.size <= _MOST_TABLE or shape.alignment not in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        raise Malformed(f"struct {shape.name} has {shape.size} bytes and alignment {shape.alignment}")
    end = 0
    for each in sorted(shape.fields, key=lambda one: one.offset):
        if each.base in ("string", "vector") or (each.shape is not None and not each.shape.inline):
            raise Malformed(f"struct {shape.name} has a field {each.name} that is not inline")
        size = item_size(each) * (each.length if each.base == "array" else 1)
        if not size or each.offset < end or each.offset + size > shape.size:
            raise Malformed(f"field {each.name} is not inside struct {shape.name}, or inside another field")
        end = each.offset + size


def item_size(each: FlatField) -> int:
    """Return the bytes of an item of the field: of the field itself, or of one in its vector or array."""
    if each.shape is not None:
        return each.shape.size if each.shape.inline else 4
    return 4 if each.element == "string" else flatbuffers_tables.SCALARS[each.element].size


def item_alignment(each: FlatField) -> int:
    return each.shape.alignment if each.shape is not None and each.shape.inline else item_size(each)
