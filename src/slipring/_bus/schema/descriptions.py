# SPDX-License-Identifier: Apache-2.0
"""A schema as Spark DDL and as JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import field_types as kinds
from .schema_document import value_to_json

if TYPE_CHECKING:
    from .topic_schema import Schema

# Spark has no unsigned types: the next larger one holds all values.
_SPARK_INTEGERS = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "uint8": "SMALLINT",
    "uint16": "INT",
    "uint32": "BIGINT",
    "uint64": "DECIMAL(20,0)",
}
_SPARK: dict[type[kinds.Type], str] = {
    kinds.Bool: "BOOLEAN",
    kinds.Text: "STRING",
    kinds.Bytes: "BINARY",
    kinds.Timestamp: "TIMESTAMP",
    kinds.Date: "DATE",
    kinds.Duration: "INTERVAL DAY TO SECOND",
    kinds.Uuid: "STRING",
}


def ddl(schema: Schema) -> str:
    return ", ".join(f"{name} {_spark(kind)}" for name, kind in schema.fields)


def _spark(kind: kinds.Type) -> str:
    match kind:
        case kinds.Nullable(item=item):
            return _spark(item)
        case kinds.Int():
            return _SPARK_INTEGERS[str(kind)]
        case kinds.Float(bits=bits):
            return "DOUBLE" if bits == 64 else "FLOAT"
        case kinds.Decimal(precision=precision, scale=scale):
            return f"DECIMAL({precision},{scale})"
        case kinds.Enum():
            return "STRING" if kind.kind is str else "BIGINT"
        case kinds.List(item=item):
            return f"ARRAY<{_spark(item)}>"
        case kinds.Array(item=item, shape=shape):
            return "ARRAY<" * len(shape) + _spark(item) + ">" * len(shape)
        case kinds.Map(item=item):
            return f"MAP<STRING, {_spark(item)}>"
        case kinds.Struct(fields=fields):
            return f"STRUCT<{', '.join(f'{each.name}: {_spark(each.type)}' for each in fields)}>"
    return _SPARK[type(kind)]


def json_schema(schema: Schema) -> dict[str, Any]:
    """Return the JSON Schema of the plain values of a message; those of encoding json have exactly this form."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": schema.name,
        **_json(schema.root),
    }


def _json(kind: kinds.Type) -> dict[str, Any]:
    match kind:
        case kinds.Nullable(item=item):
            return {"anyOf": [_json(item), {"type": "null"}]}
        case kinds.Int():
            return {"type": "integer", "minimum": kind.lowest, "maximum": kind.highest}
        case kinds.Float():
            return {"type": "number"}
        case kinds.Bool():
            return {"type": "boolean"}
        case kinds.Text(most=most):
            return {"type": "string"} if most is None else {"type": "string", "maxLength": most}
        case kinds.Bytes():
            return {"type": "string", "contentEncoding": "base64"}
        case kinds.Timestamp(unit="us"):
            return {"type": "string", "format": "date-time"}
        case kinds.Date():
            return {"type": "string", "format": "date"}
        case kinds.Duration(unit="us"):
            return {"type": "string", "format": "duration"}
        case kinds.Timestamp() | kinds.Duration():
            return _json(kinds.Int())
        case kinds.Uuid():
            return {"type": "string", "format": "uuid"}
        case kinds.Decimal():
            return {"type": "string", "pattern": r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"}
        case kinds.Enum(values=values):
            return {"enum": [value for _, value in values]}
        case kinds.List(item=item):
            return {"type": "array", "items": _json(item)}
        case kinds.Array(item=item, shape=shape):
            found = _json(item)
            for size in reversed(shape):
                found = {"type": "array", "items": found, "minItems": size, "maxItems": size}
            return found
        case kinds.Map(item=item):
            return {"type": "object", "additionalProperties": _json(item)}
        case kinds.Struct(fields=fields):
            return _structure(fields)
    raise AssertionError(kind)


def _structure(fields: tuple[Any, ...]) -> dict[str, Any]:
    properties = {}
    for each in fields:
        found = _json(each.type)
        if each.default is not kinds.REQUIRED:
            found = {**found, "default": value_to_json(each.type, each.default)}
        properties[each.name] = found
    required = [each.name for each in fields if each.default is kinds.REQUIRED]
    return {"type": "object", "properties": properties, "required": required}
