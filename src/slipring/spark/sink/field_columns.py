# SPDX-License-Identifier: Apache-2.0
"""The columns of a DataFrame that is written to a typed topic: one for each field, with a type that fits.

Types are compared when a query starts; values are compared by the tasks that encode them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pyspark.sql import types as T

from slipring._bus.schema import field_types as kinds
from slipring.errors import BadArgument

if TYPE_CHECKING:
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
