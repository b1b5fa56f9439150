# SPDX-License-Identifier: Apache-2.0
"""Arrow schemas as types, types as Arrow columns, and rows of plain values in these columns."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument, Corrupt

from .. import field_types as kinds
from .. import packages
from ..plain_values import UTC

if TYPE_CHECKING:
    from ..topic_schema import Schema

Rows = list[dict[str, Any]]
_ALLOWED = (
    "integers, floats, bool, string, binary, timestamp in us or ns with a time zone, date32, duration in us or ns, "
    "decimal128, list, fixed_size_list, map with string keys, struct"
)


def from_arrow(schema: Any) -> kinds.Struct:
    """Return the type of a pyarrow.Schema; BadArgument names the field that a schema cannot express."""
    return kinds.Struct(tuple(_field(each, "") for each in schema), "Record")


def _field(field: Any, path: str) -> kinds.Field:
    inner = kinds.within(path, field.name)
    why = kinds.bad_name(field.name)
    if why:
        raise BadArgument(f"field {inner}: {why}", argument=inner)
    return kinds.Field(field.name, _nullable(field, inner))


def _nullable(field: Any, path: str) -> kinds.Type:
    kind = _type(field.type, path)
    return kinds.Nullable(kind) if field.nullable else kind


def _type(arrow: Any, path: str) -> kinds.Type:
    types = packages.pyarrow().types
    if path.count(".") + path.count("[]") > kinds.MOST_DEPTH:
        raise BadArgument(
            f"field {path[:80]}: types are nested deeper than {kinds.MOST_DEPTH}", argument=path
        )
    if types.is_integer(arrow) or types.is_boolean(arrow):
        return kinds.leaf(str(arrow)) or kinds.Bool()
    if types.is_floating(arrow):
        return kinds.Float(arrow.bit_width)
    if types.is_string(arrow) or types.is_large_string(arrow):
        return kinds.Text()
    if types.is_binary(arrow) or types.is_large_binary(arrow):
        return kinds.Bytes()
    if types.is_fixed_size_binary(arrow):
        return kinds.Bytes(arrow.byte_width)
    if types.is_date32(arrow):
        return kinds.Date()
    if types.is_decimal128(arrow) and 0 <= arrow.scale <= arrow.precision:
        return kinds.Decimal(arrow.precision, arrow.scale)
    if types.is_timestamp(arrow) and arrow.tz is not None and arrow.unit in kinds.UNITS:
        return kinds.Timestamp(arrow.unit)
    if types.is_duration(arrow) and arrow.unit in kinds.UNITS:
        return kinds.Duration(arrow.unit)
    if types.is_list(arrow) or types.is_large_list(arrow):
        return kinds.List(_nullable(arrow.value_field, f"{path}[]"))
    if types.is_fixed_size_list(arrow):
        item = _nullable(arrow.value_field, f"{path}[]")
        if isinstance(item, kinds.Array):
            return kinds.Array(item.item, (arrow.list_size, *item.shape))
        return kinds.Array(item, (arrow.list_size,))
    if types.is_map(arrow) and types.is_string(arrow.key_type):
        return kinds.Map(_nullable(arrow.item_field, f"{path}[]"))
    if types.is_struct(arrow):
        return kinds.Struct(
            tuple(_field(each, path) for each in arrow), path.rpartition(".")[2].removesuffix("[]")
        )
    raise BadArgument(
        f"field {path}: Arrow type {arrow} is not possible: allowed are {_ALLOWED}", argument=path
    )


def to_ipc(schema: Any) -> bytes:
    """Return the IPC form of a schema, without metadata."""
    pa = packages.pyarrow()
    bare = pa.schema([each.remove_metadata() for each in schema])
    data: bytes = bare.serialize().to_pybytes()
    return data


def stored(schema: Schema) -> Any:
    """Return the pyarrow.Schema in a schema of encoding arrow; Corrupt if it does not have its type."""
    pa = packages.pyarrow()
    try:
        found = pa.ipc.read_schema(pa.py_buffer(schema.extra["arrow"]))
        same = from_arrow(found) == schema.root
    except (pa.ArrowException, BadArgument, ValueError, OSError, KeyError, RecursionError) as error:
        raise Corrupt(f"the schema's Arrow schema is not valid: {error}", argument="schema") from None
    if not same:
        raise Corrupt("the schema's Arrow schema does not have the type of the schema", argument="schema")
    return found


def places(schema: Schema) -> dict[str, str]:
    """Return the exact Arrow type of each column."""
    return {each.name: str(each.type) for each in stored(schema)}


def columns_of(schema: Schema) -> Any:
    """Return the columns of decoded messages, as a pyarrow.Schema."""
    if schema.encoding == "arrow":
        return stored(schema)
    pa = packages.pyarrow()
    return pa.schema([_arrow_field(name, kind, schema.encoding == "numpy") for name, kind in schema.fields])


def _arrow_field(name: str, kind: kinds.Type, fixed: bool) -> Any:
    """fixed: of a fixed layout, whose moments and durations may be NaT."""
    nullable = isinstance(kind, kinds.Nullable) or (
        fixed and isinstance(kind, (kinds.Timestamp, kinds.Duration))
    )
    return packages.pyarrow().field(name, _arrow(kind, fixed), nullable)


def _arrow(kind: kinds.Type, fixed: bool) -> Any:
    pa = packages.pyarrow()
    match kind:
        case kinds.Nullable(item=item):
            return _arrow(item, fixed)
        case kinds.Int() | kinds.Date():
            return getattr(pa, {"date": "date32"}.get(str(kind), str(kind)))()
        case kinds.Float():
            return getattr(pa, str(kind))()
        case kinds.Bool():
            return pa.bool_()
        case kinds.Bytes(size=size):
            return pa.binary() if size is None else pa.binary(size)
        case kinds.Timestamp(unit=unit):
            return pa.timestamp(unit, "UTC")
        case kinds.Duration(unit=unit):
            return pa.duration(unit)
        case kinds.Decimal(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case kinds.Enum():
            return pa.string() if kind.kind is str else pa.int64()
        case kinds.List(item=item):
            return pa.list_(_arrow_field("item", item, fixed))
        case kinds.Map(item=item):
            return pa.map_(pa.string(), _arrow_field("value", item, fixed))
        case kinds.Array(item=item, shape=shape):
            found = _arrow_field("item", item, fixed)
            for size in reversed(shape):
                found = pa.field("item", pa.list_(found, size), False)
            return found.type
        case kinds.Struct(fields=fields):
            return pa.struct([_arrow_field(each.name, each.type, fixed) for each in fields])
    return pa.string()  # str and UUID


def null_where_none_is_allowed(arrow: Any, array: Any, path: str) -> str | None:
    """Return the path of a column that has NULL although its field does not allow it, or None."""
    pa = packages.pyarrow()
    if not arrow.nullable and array.null_count:
        return path
    children: list[tuple[Any, Any, str]] = []
    if pa.types.is_struct(array.type):
        children = [
            (each, array.field(at), kinds.within(path, each.name)) for at, each in enumerate(array.type)
        ]
        if array.null_count:
            children = [(each, part.filter(array.is_valid()), name) for each, part, name in children]
    elif pa.types.is_map(array.type):
        children = [(array.type.item_field, array.items, f"{path}[]")]
    elif (
        pa.types.is_list(array.type)
        or pa.types.is_large_list(array.type)
        or pa.types.is_fixed_size_list(array.type)
    ):
        children = [(array.type.value_field, array.flatten(), f"{path}[]")]
    return next((found for child in children if (found := null_where_none_is_allowed(*child))), None)


def to_rows(fields: tuple[tuple[str, kinds.Type], ...], batch: Any) -> Rows:
    """Return the rows of a batch as dicts of plain values. Years that Python does not have raise ValueError."""
    columns = []
    for name, kind in fields:
        column = batch.column(name)
        if _has_moments(kind):
            column = column.cast(_readable(column.type))
        values, convert = column.to_pylist(), _from_python(kind)
        columns.append(values if convert is None else [convert(value) for value in values])
    names = [name for name, _ in fields]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _has_moments(kind: kinds.Type) -> bool:
    moments = (kinds.Timestamp, kinds.Duration)
    return isinstance(kind, moments) or any(_has_moments(part) for part in kind.parts())


def _readable(arrow: Any) -> Any:
    """Return the Arrow type with int64 in place of nanoseconds, and UTC in place of zones that may be unknown here."""
    pa = packages.pyarrow()
    if pa.types.is_timestamp(arrow):
        return pa.int64() if arrow.unit == "ns" else pa.timestamp("us", "UTC")
    if pa.types.is_duration(arrow):
        return pa.int64() if arrow.unit == "ns" else arrow
    if pa.types.is_struct(arrow):
        return pa.struct([each.with_type(_readable(each.type)) for each in arrow])
    if pa.types.is_map(arrow):
        return pa.map_(arrow.key_type, arrow.item_field.with_type(_readable(arrow.item_type)))
    if pa.types.is_fixed_size_list(arrow):
        return pa.list_(arrow.value_field.with_type(_readable(arrow.value_type)), arrow.list_size)
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        make = pa.list_ if pa.types.is_list(arrow) else pa.large_list
        return make(arrow.value_field.with_type(_readable(arrow.value_type)))
    return arrow


Convert = Callable[[Any], Any]


def _from_python(kind: kinds.Type) -> Convert | None:
    """Return the function from pyarrow's Python values to plain values; None: they are the same."""
    import uuid

    if isinstance(kind, kinds.Timestamp) and kind.unit == "us":
        return _or_none(lambda value: value.astimezone(UTC))
    if isinstance(kind, kinds.Uuid):
        return _or_none(uuid.UUID)
    return _through(kind, _from_python, dict)


def _to_arrow(kind: kinds.Type) -> Convert | None:
    """Return the function from plain values to what pyarrow takes; None: they are the same."""
    if isinstance(kind, kinds.Uuid):
        return _or_none(str)
    if isinstance(kind, kinds.Timestamp) and kind.unit == "us":
        return _or_none(_aware)
    return _through(kind, _to_arrow, lambda pairs: list(pairs.items()))


def _aware(value: datetime.datetime) -> datetime.datetime:
    return value.astimezone(UTC)


def _through(kind: kinds.Type, of: Callable[[kinds.Type], Convert | None], pairs: Convert) -> Convert | None:
    match kind:
        case kinds.Nullable(item=item):
            return of(item)
        case kinds.List(item=item) | kinds.Array(row=item):
            inner = of(item)
            return None if inner is None else _each(inner)
        case kinds.Map(item=item):
            change: Convert = of(item) or _same
            if pairs is dict:
                return _or_none(lambda values: {key: change(each) for key, each in values})
            return _or_none(lambda values: [(key, change(each)) for key, each in values.items()])
        case kinds.Struct(fields=fields):
            found = {each.name: of(each.type) for each in fields}
            changes = {name: inner for name, inner in found.items() if inner is not None}
            if not changes:
                return None
            return _or_none(lambda row: {key: changes.get(key, _same)(each) for key, each in row.items()})
    return None


def _same(value: Any) -> Any:
    return value


def _each(inner: Convert) -> Convert:
    return _or_none(lambda values: [inner(each) for each in values])


def _or_none(function: Convert) -> Convert:
    return lambda value: None if value is None else function(value)


def from_rows(schema: Schema, rows: Rows) -> Any:
    """Return a record batch with the columns of the schema, of dicts of plain values."""
    pa = packages.pyarrow()
    arrow, columns = schema.arrow, []
    for each, (name, kind) in zip(arrow, schema.fields, strict=True):
        convert = _to_arrow(kind)
        values = [row[name] for row in rows]
        columns.append(
            pa.array(values if convert is None else [convert(value) for value in values], each.type)
        )
    return pa.RecordBatch.from_arrays(columns, schema=arrow)
