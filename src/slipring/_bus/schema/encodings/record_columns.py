# SPDX-License-Identifier: Apache-2.0
"""Bodies of encoding numpy as Arrow columns, and back: the compiled part copies all leaves in one pass over the rows.

A leaf is a type without parts. Arrays around it are loops over its items, so that the column of an array of
structures is dense, too. The compiled part writes offsets and data of text and bytes. On the way back it copies them
from arrays of numpy, which have the zeros at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument

from ...native import _native
from .. import field_types as kinds
from .. import packages
from . import numpy_layout

if TYPE_CHECKING:
    from ..topic_schema import Schema

Buffers = Iterator[Any]
Loops = tuple[tuple[int, int], ...]  # (count, stride), outermost first
Leaf = tuple[str, int, int, Loops]
Source = tuple[Any, int] | None


class RecordColumns:
    """The columns of a schema of encoding numpy, prepared once."""

    def __init__(self, schema: Schema) -> None:
        self._arrow, self._pa = schema.arrow, packages.pyarrow()
        dtype = numpy_layout.to_dtype(schema)
        root = schema.root
        places = _places(root, dtype) if isinstance(root, kinds.Struct) else [(root, dtype, 0)]
        self._kinds = schema.fields
        self._out, self._make = _layout(places, dtype.itemsize, schema.arrow, texts=True)
        self._back, _ = _layout(places, dtype.itemsize, schema.arrow, texts=False)

    def split(self, data: Any, count: int) -> Any:
        """Return the record batch of so many bodies, or None if a text has a character that Unicode does not have."""
        py_buffer = self._pa.py_buffer
        found = self._out.split(data, count)
        buffers = iter([None if each is None else py_buffer(each) for each in found])
        try:
            columns = [make(buffers, count) for make in self._make]
        except _BadText:
            return None
        return self._pa.RecordBatch.from_arrays(columns, schema=self._arrow)

    def join(self, batch: Any) -> memoryview:
        """Return the bodies of a batch with exactly these columns, one after the other.

        NULL is NaT; other types have none. BadArgument names the field of a text that is too long.
        """
        if not batch.num_rows:
            return memoryview(b"")
        sources: list[Source] = []
        for (name, kind), column in zip(self._kinds, batch.columns, strict=True):
            _sources(kind, column, name, sources)
        return self._back.join(tuple(sources), batch.num_rows)


class _BadText(Exception):
    pass


Make = Callable[[Buffers, int], Any]
Place = tuple[kinds.Type, Any, int]  # type, dtype, offset


def _places(kind: kinds.Struct, dtype: Any) -> list[Place]:
    return [(each.type, *dtype.fields[each.name][:2]) for each in kind.fields]


def _layout(
    places: list[Place], size: int, arrow: Any, *, texts: bool
) -> tuple[_native.RecordLayout, list[Make]]:
    found = _Leaves(texts=texts)
    make = [
        found.column(kind, dtype, offset, (), each.type)
        for (kind, dtype, offset), each in zip(places, arrow, strict=True)
    ]
    return _native.RecordLayout(size, tuple(found.leaves)), make


class _Leaves:
    """The leaves of a layout, in the order of the document. texts: text and bytes as Arrow has them, not as rows do."""

    def __init__(self, *, texts: bool) -> None:
        self.leaves: list[Leaf] = []
        self._texts = texts

    def column(self, kind: kinds.Type, dtype: Any, offset: int, loops: Loops, arrow: Any) -> Make:
        """Add the leaves of a type, and return the function from their buffers and a length to the Arrow array."""
        match kind:
            case kinds.Array(item=item, shape=shape):
                return self._array(item, shape, dtype.subdtype[0], offset, loops, arrow)
            case kinds.Struct():
                parts = [
                    self.column(part, inner, offset + start, loops, each.type)
                    for (part, inner, start), each in zip(_places(kind, dtype), arrow, strict=True)
                ]
                return _nested(arrow, parts, 1)
        return self._leaf(kind, dtype.itemsize, offset, loops, arrow)

    def _array(
        self, item: kinds.Type, shape: tuple[int, ...], dtype: Any, offset: int, loops: Loops, arrow: Any
    ) -> Make:
        types, count = [], 1
        for size in shape:
            types.append(arrow)
            arrow, count = arrow.value_type, count * size
        make = self.column(item, dtype, offset, (*loops, (count, dtype.itemsize)), arrow)
        for each in reversed(types):
            make = _nested(each, [make], each.list_size)
        return make

    def _leaf(self, kind: kinds.Type, width: int, offset: int, loops: Loops, arrow: Any) -> Make:
        if isinstance(kind, kinds.Bool):
            self._add("bits", offset, width, loops)
        elif self._texts and isinstance(kind, (kinds.Text, kinds.Bytes)) and kind.most is not None:
            self._add("text" if isinstance(kind, kinds.Text) else "bytes", offset, width, loops)
            return _of_variable_size(arrow)
        else:
            self._add("copy", offset, width, loops)
        if isinstance(kind, (kinds.Timestamp, kinds.Duration)):
            self._add("valid", offset, width, loops)
            return _with_nulls(arrow)
        return _of_fixed_size(arrow)

    def _add(self, kind: str, offset: int, width: int, loops: Loops) -> None:
        if kind == "copy":
            while loops and loops[-1][1] == width:  # contiguous items are one
                width, loops = width * loops[-1][0], loops[:-1]
        self.leaves.append((kind, offset, width, loops))


def _of_fixed_size(arrow: Any) -> Make:
    make = packages.pyarrow().Array.from_buffers
    return lambda buffers, length: make(arrow, length, [None, next(buffers)], 0)


def _with_nulls(arrow: Any) -> Make:
    make = packages.pyarrow().Array.from_buffers

    def array(buffers: Buffers, length: int) -> Any:
        data, valid = next(buffers), next(buffers)
        return make(arrow, length, [valid, data])

    return array


def _of_variable_size(arrow: Any) -> Make:
    make = packages.pyarrow().Array.from_buffers

    def array(buffers: Buffers, length: int) -> Any:
        ends, data = next(buffers), next(buffers)
        if data is None:
            raise _BadText
        return make(arrow, length, [None, ends, data], 0)

    return array


def _nested(arrow: Any, parts: list[Make], times: int) -> Make:
    make = packages.pyarrow().Array.from_buffers

    def array(buffers: Buffers, length: int) -> Any:
        children = [part(buffers, length * times) for part in parts]
        return make(arrow, length, [None], 0, children=children)

    return array


def _sources(kind: kinds.Type, column: Any, path: str, found: list[Source]) -> None:
    """Append a source for each leaf of a column, in the order of _Leaves."""
    match kind:
        case kinds.Array(row=inner):
            _sources(inner, column.flatten(), f"{path}[]", found)
            return
        case kinds.Struct(fields=fields):
            for each, part in zip(fields, column.flatten(), strict=True):
                _sources(each.type, part, kinds.within(path, each.name), found)
            return
        case kinds.Bytes(most=most) | kinds.Text(most=most) if most is not None:
            found.append((_padded(kind, column.to_pylist(), most, path), 0))
            return
    valid, data = column.buffers()
    start = column.offset if isinstance(kind, kinds.Bool) else column.offset * column.type.bit_width // 8
    found.append(None if data is None else (data, start))
    if isinstance(kind, (kinds.Timestamp, kinds.Duration)):
        found.append(None if valid is None else (valid, column.offset))


def _padded(kind: kinds.Type, values: list[Any], most: int, path: str) -> Any:
    """Return values as numpy has them: of equal size, with zeros at the end."""
    zero: Any = "\0" if isinstance(kind, kinds.Text) else b"\0"
    for value in values:
        if len(value) > most or value.endswith(zero):
            text = f"{path}={value!r:.60} must be {kind}, and have no zero at the end"
            raise BadArgument(text, argument=path)
    found = packages.numpy().array(values, numpy_layout.scalar_code(kind))
    return found.view("u1")
