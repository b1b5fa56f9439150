# SPDX-License-Identifier: Apache-2.0
"""The columns of a DataFrame that is written to a typed topic: one for each field, with a type that fits.

`check` compares types when a query starts. `check_values` finds values that a cast to the field's type would change
without an error: too large floats, and texts and bytes beyond the field's size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import types as T

from slipring._bus.schema import field_types as kinds
from slipring.errors import BadArgument

if TYPE_CHECKING:
    import pyarrow as pa

    from slipring._bus.schema.topic_schema import Schema

_INTEGERS: Final = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_LEAVES: Final[dict[type[kinds.Type], tuple[str, tuple[type[T.DataType], ...]]]] = {
    kinds.Float: ("DOUBLE, FLOAT or an integer", (T.DoubleType, T.FloatType, *_INTEGERS)),
    kinds.Bool: ("BOOLEAN", (T.BooleanType,)),
    kinds.Text: ("STRING", (T.StringType,)),
    kinds.Uuid: ("STRING", (T.StringType,)),
    kinds.Bytes: ("BINARY", (T.BinaryType,)),
    kinds.Timestamp: ("TIMESTAMP", (T.TimestampType,)),
    kinds.Duration: ("INTERVAL DAY TO SECOND", (T.DayTimeIntervalType,)),
    kinds.Date: ("DATE", (T.DateType,)),
    kinds.Decimal: ("DECIMAL", (T.DecimalType,)),
}
_INTEGER: Final = "TINYINT, SMALLINT, INT, BIGINT or DECIMAL without digits after the point"


def check(schema: Schema, topic: str, columns: dict[str, T.DataType]) -> None:
    """Refuse columns that are not the fields; BadArgument names the column, its type and what is allowed."""
    fields = dict(schema.fields)
    known = ", ".join(fields)
    if not columns:
        raise BadArgument(
            f"no column is a field of topic {topic!r}: its fields are {known}", argument="topic"
        )
    for name, found in columns.items():
        if name not in fields:
            hint = (
                "; to publish its bytes as they are, set option valueFormat=raw"
                if name == "value"
                else ": drop it"
            )
            raise BadArgument(
                f"column {name!r} is not a field of topic {topic!r}: its fields are {known}{hint}",
                argument=name,
            )
        for path, kind, allowed in _misfits(fields[name], found, name):
            raise BadArgument(
                f"column {path!r} is {kind.simpleString()}, the field of topic {topic!r} is "
                f"{_of(fields[name], path)}: allowed is {allowed}",
                argument=path,
            )
    for name, wanted in fields.items():
        if name not in columns and name not in schema.defaults:
            raise BadArgument(
                f"column {name!r} is missing: topic {topic!r} has the fields {known}, and this one is {wanted} without "
                f"a default",
                argument=name,
            )


def _of(field: kinds.Type, path: str) -> str:
    return str(field) if path.isidentifier() else f"part of {field}"


_Misfit = tuple[str, T.DataType, str]


def _misfits(kind: kinds.Type, found: T.DataType, path: str) -> Iterator[_Misfit]:
    """Yield the parts of a column with a wrong type: path, type, and the types that are allowed."""
    match kind:
        case kinds.Nullable(item=item):
            yield from _misfits(item, found, path)
        case kinds.List(item=item) | kinds.Array(row=item):
            if isinstance(found, T.ArrayType):
                yield from _misfits(item, found.elementType, f"{path}[]")
            else:
                yield path, found, "ARRAY"
        case kinds.Map(item=item):
            if isinstance(found, T.MapType) and isinstance(found.keyType, T.StringType):
                yield from _misfits(item, found.valueType, f"{path}[]")
            else:
                yield path, found, "MAP with STRING keys"
        case kinds.Struct():
            yield from _struct_misfits(kind, found, path)
        case kinds.Int():
            whole = isinstance(found, T.DecimalType) and found.scale == 0
            if not (whole or isinstance(found, _INTEGERS)):
                yield path, found, _INTEGER
        case kinds.Enum():
            if not isinstance(found, (T.StringType,) if kind.kind is str else _INTEGERS):
                yield path, found, "STRING" if kind.kind is str else "an integer"
        case _:
            allowed, classes = _LEAVES[type(kind)]
            if not isinstance(found, classes):
                yield path, found, allowed


def _struct_misfits(kind: kinds.Struct, found: T.DataType, path: str) -> Iterator[_Misfit]:
    names = ", ".join(each.name for each in kind.fields)
    if not isinstance(found, T.StructType) or set(found.names) - {each.name for each in kind.fields}:
        yield path, found, f"STRUCT with the fields {names}"
        return
    for each in kind.fields:
        if each.name in found.names:
            yield from _misfits(each.type, found[each.name].dataType, f"{path}.{each.name}")
        elif not isinstance(each.type, kinds.Nullable):
            yield path, found, f"STRUCT with the fields {names}"


def check_values(schema: Schema, columns: dict[str, pa.Array]) -> None:
    """Refuse values that do not fit their field; BadArgument names the field and the value. Casts check all others."""
    for name, kind in schema.fields:
        if name in columns and _is_limited(kind):
            _check_column(kind, columns[name], name)


def _is_limited(kind: kinds.Type) -> bool:
    match kind:
        case kinds.Float(bits=bits):
            return bits < 64
        case kinds.Text(most=most):
            return most is not None
        case kinds.Bytes():
            return (kind.size, kind.most) != (None, None)
    return any(_is_limited(part) for part in kind.parts())


def _check_column(kind: kinds.Type, column: Any, path: str) -> None:
    import pyarrow.compute as pc

    match kind:
        case kinds.Nullable(item=item):
            _check_column(item, column, path)
        case kinds.List(item=item) | kinds.Array(row=item):
            _check_column(item, column.flatten(), f"{path}[]")
        case kinds.Map(item=item):
            _check_column(item, column.items, f"{path}[]")
        case kinds.Struct(fields=fields):
            for each in fields:
                if _is_limited(each.type) and column.type.get_field_index(each.name) >= 0:
                    _check_column(each.type, column.field(each.name), f"{path}.{each.name}")
        case kinds.Float():
            finite = pc.is_finite(column)
            large = pc.greater(pc.abs(pc.cast(column, "double", safe=False)), kind.highest)
            _refuse(kind, column, pc.and_(finite, large), path)
        case kinds.Text(most=most) if most is not None:
            cut = pc.or_(pc.greater(pc.utf8_length(column), most), pc.ends_with(column, "\0"))
            _refuse(kind, column, cut, path)
        case kinds.Bytes(size=size, most=most) if size is not None or most is not None:
            length = pc.binary_length(column)
            if size is not None:
                _refuse(kind, column, pc.not_equal(length, size), path)
            else:
                cut = pc.or_(pc.greater(length, most), pc.ends_with(column, b"\0"))
                _refuse(kind, column, cut, path)


def _refuse(kind: kinds.Type, column: Any, wrong: Any, path: str) -> None:
    import pyarrow.compute as pc

    if pc.any(wrong).as_py():
        value = repr(column.filter(wrong)[0].as_py())
        shown = value if len(value) <= 60 else f"{value[:57]}…"
        raise BadArgument(f"column {path!r} has {shown}, which does not fit {kind}", argument=path)
