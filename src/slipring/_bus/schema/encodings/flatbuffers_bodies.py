# SPDX-License-Identifier: Apache-2.0
"""Encoding flatbuffers: a body is a buffer with the root table of the schema's .bfbs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slipring.errors import Undecodable

from .. import bound_classes
from .. import field_types as kinds
from ..plain_values import to_plain
from . import flatbuffers_types
from .flatbuffers_tables import SCALARS, Buffer, Malformed, Table, Writer
from .flatbuffers_types import FlatField, FlatObject, item_alignment, item_size

if TYPE_CHECKING:
    from ..compatibility import View
    from ..topic_schema import Schema


def decoder(view: View) -> Callable[[Any], Any]:
    """Return the function that decodes a body into a dict, or an object of the view's class."""
    shape = flatbuffers_types.stored(view.found).root
    bound, own = view.bound, view.own.root

    def decode(body: Any) -> Any:
        try:
            buffer = Buffer(body if type(body) is bytes else bytes(body))
            return _table(shape, buffer.table(0), "")
        except Malformed as error:
            raise Undecodable(f"the body is not valid: {error}") from None

    return decode if bound is None else lambda body: bound_classes.build(own, bound, decode(body))


def _table(shape: FlatObject, table: Table, path: str) -> dict[str, Any]:
    found = {}
    for each in shape.fields:
        at, inner = table.place(each.number), kinds.within(path, each.name)
        if at:
            found[each.name] = _value(each, table.buffer, at, inner)
        elif each.default is kinds.REQUIRED:
            raise Undecodable(f"{inner} is missing", field=inner)
        else:
            found[each.name] = copy.copy(each.default)
    return found


def _value(each: FlatField, buffer: Buffer, at: int, path: str) -> Any:
    if each.base == "vector":
        size = item_size(each)
        start, count = buffer.vector(at, size)
        kind = each.kind.item if isinstance(each.kind, kinds.Nullable) else each.kind
        if isinstance(kind, kinds.Bytes):
            buffer.spend(count)
            return buffer.raw(start, count)
        return _items(each, buffer, start, count, path)
    if each.base == "array":
        return _items(each, buffer, at, each.length, path)
    return _item(each, buffer, at, path)


def _items(each: FlatField, buffer: Buffer, start: int, count: int, path: str) -> list[Any]:
    if each.shape is None and each.element != "string":
        values = buffer.scalars(SCALARS[each.element], start, count)
        return [_known(each, value, path) for value in values] if _is_special(each) else values
    size = item_size(each)
    return [_item(each, buffer, start + at * size, f"{path}[{at}]") for at in range(count)]


def _item(each: FlatField, buffer: Buffer, at: int, path: str) -> Any:
    if each.element == "string":
        return buffer.text(at)
    if each.shape is None:
        return _known(each, buffer.scalar(SCALARS[each.element], at), path)
    if not each.shape.inline:
        return _table(each.shape, buffer.table(at), path)
    buffer.spend(1)
    return {
        part.name: _value(part, buffer, at + part.offset, kinds.within(path, part.name))
        for part in each.shape.fields
    }


def _is_special(each: FlatField) -> bool:
    return each.element == "bool" or isinstance(_innermost(each.kind), kinds.Enum)


def _innermost(kind: kinds.Type) -> kinds.Type:
    return next((_innermost(part) for part in kind.parts()), kind)


def _known(each: FlatField, value: Any, path: str) -> Any:
    if each.element == "bool":
        return bool(value)
    kind = _innermost(each.kind)
    if isinstance(kind, kinds.Enum) and all(value != known for _, known in kind.values):
        raise Undecodable(f"{path}={value} is not a value of {kind}", field=path)
    return value


def encoder(schema: Schema) -> Callable[[Any], bytes]:
    """Return the function that encodes a dict."""
    parsed, kind = flatbuffers_types.stored(schema), schema.root

    def encode(value: Any) -> bytes:
        plain = to_plain(kind, value)
        writer = Writer(parsed.identifier)
        _write_table(parsed.root, plain, writer, 0)
        return bytes(writer.data)

    return encode


def _write_table(shape: FlatObject, values: dict[str, Any], writer: Writer, at: int) -> None:
    present = [each for each in shape.fields if values[each.name] is not None]
    sizes = []
    for each in present:
        linked = each.base in ("vector", "string")
        size, alignment = (4, 4) if linked else (item_size(each), item_alignment(each))
        sizes.append((each.number, size, alignment))
    places = writer.table(at, sizes, shape.slots)
    for each in present:
        _write(each, values[each.name], writer, places[each.number])


def _write(each: FlatField, value: Any, writer: Writer, at: int) -> None:
    if each.base == "vector" and isinstance(value, bytes):
        writer.blob(at, value, terminated=False)
    elif each.base == "vector":
        size = item_size(each)
        start = writer.vector(at, len(value), size, item_alignment(each))
        for place, item in enumerate(value):
            _write_item(each, item, writer, start + place * size)
    elif each.base == "array":
        assert isinstance(each.kind, kinds.Array)
        for place, item in enumerate(value):
            _write_item(each, item, writer, at + place * item_size(each))
    else:
        _write_item(each, value, writer, at)


def _write_item(each: FlatField, value: Any, writer: Writer, at: int) -> None:
    if each.element == "string":
        writer.blob(at, value.encode(), terminated=True)
    elif each.shape is None:
        SCALARS[each.element].pack_into(writer.data, at, value)
    elif each.shape.inline:
        for part in each.shape.fields:
            _write(part, value[part.name], writer, at + part.offset)
    else:
        _write_table(each.shape, value, writer, at)
