# SPDX-License-Identifier: Apache-2.0
"""A schema as Spark DDL and as JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .field_types import (
    REQUIRED,
    Array,
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Enum,
    Float,
    Int,
    List,
    Map,
    Nullable,
    Struct,
    Text,
    Timestamp,
    Type,
    Uuid,
)  # fmt: skip
from .schema_document import value_to_json

if TYPE_CHECKING:
    from .topic_schema import Schema

# Spark has no unsigned types: the next larger one holds all values.
_SPARK_INTEGERS = {
    "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "uint8": "SMALLINT", "uint16": "INT",
    "uint32": "BIGINT", "uint64": "DECIMAL(20,0)",
}  # fmt: skip
_SPARK: dict[type[Type], str] = {
    Bool: "BOOLEAN", Text: "STRING", Bytes: "BINARY", Timestamp: "TIMESTAMP", Date: "DATE",
    Duration: "INTERVAL DAY TO SECOND", Uuid: "STRING",
}  # fmt: skip


def ddl(schema: Schema) -> str:
    return ", ".join(f"{name} {_spark(kind)}" for name, kind in schema.fields)


def _spark(kind: Type) -> str:
    match kind:
        case Nullable(item=item):
            return _spark(item)
        case Int():
            return _SPARK_INTEGERS[str(kind)]
        case Float(bits=bits):
            return "DOUBLE" if bits == 64 else "FLOAT"
        case Decimal(precision=precision, scale=scale):
            return f"DECIMAL({precision},{scale})"
        case Enum():
            return "STRING" if kind.kind is str else "BIGINT"
        case List(item=item):
            return f"ARRAY<{_spark(item)}>"
        case Array(item=item, shape=shape):
            return "ARRAY<" * len(shape) + _spark(item) + ">" * len(shape)
        case Map(item=item):
            return f"MAP<STRING, {_spark(item)}>"
        case Struct(fields=fields):
            return f"STRUCT<{', '.join(f'{each.name}: {_spark(each.type)}' for each in fields)}>"
    return _SPARK[type(kind)]


def json_schema(schema: Schema) -> dict[str, Any]:
    """Return the JSON Schema of the plain values of a message; those of encoding json have exactly this form."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": schema.name,
        **_json(schema.root),
    }


def _json(kind: Type) -> dict[str, Any]:
    match kind:
        case Nullable(item=item):
            return {"anyOf": [_json(item), {"type": "null"}]}
        case Int():
            return {"type": "integer", "minimum": kind.lowest, "maximum": kind.highest}
        case Float():
            return {"type": "number"}
        case Bool():
            return {"type": "boolean"}
        case Text(most=most):
            return {"type": "string"} if most is None else {"type": "string", "maxLength": most}
        case Bytes():
            return {"type": "string", "contentEncoding": "base64"}
        case Timestamp(unit="us"):
            return {"type": "string", "format": "date-time"}
        case Date():
            return {"type": "string", "format": "date"}
        case Duration(unit="us"):
            return {"type": "string", "format": "duration"}
        case Timestamp() | Duration():
            return _json(Int())
        case Uuid():
            return {"type": "string", "format": "uuid"}
        case Decimal():
            return {"type": "string", "pattern": r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"}
        case Enum(values=values):
            return {"enum": [value for _, value in values]}
        case List(item=item):
            return {"type": "array", "items": _json(item)}
        case Array(item=item, shape=shape):
            found = _json(item)
            for size in reversed(shape):
                found = {"type": "array", "items": found, "minItems": size, "maxItems": size}
            return found
        case Map(item=item):
            return {"type": "object", "additionalProperties": _json(item)}
        case Struct(fields=fields):
            return _structure(fields)
    raise AssertionError(kind)


def _structure(fields: tuple[Any, ...]) -> dict[str, Any]:
    properties = {}
    for each in fields:
        found = _json(each.type)
        if each.default is not REQUIRED:
            found = {**found, "default": value_to_json(each.type, each.default)}
        properties[each.name] = found
    required = [each.name for each in fields if each.default is REQUIRED]
    return {"type": "object", "properties": properties, "required": required}
