# SPDX-License-Identifier: Apache-2.0
"""Values that are decoded one by one: JSON, msgpack, or by a function of the user."""

from __future__ import annotations

import datetime
import decimal
import importlib
from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import msgspec
from pyspark.sql import types as T

from ..errors import BadOption

Decode = Callable[[bytes], Mapping[str, Any]]

_PYTHON: dict[type[T.DataType], Any] = {
    T.BooleanType: bool,
    T.ByteType: int,
    T.ShortType: int,
    T.IntegerType: int,
    T.LongType: int,
    T.FloatType: float,
    T.DoubleType: float,
    T.StringType: str,
    T.BinaryType: bytes,
    T.DateType: datetime.date,
    T.TimestampType: datetime.datetime,
    T.TimestampNTZType: datetime.datetime,
    T.DecimalType: decimal.Decimal,
    T.DayTimeIntervalType: datetime.timedelta,
}


def python_type(kind: T.DataType) -> Any:
    """Return the Python type of a Spark type, which msgspec checks while it decodes."""
    if isinstance(kind, T.StructType):
        fields: dict[str, Any] = {field.name: python_type(field.dataType) | None for field in kind.fields}
        return TypedDict("Record", fields, total=False)  # type: ignore[operator]
    if isinstance(kind, T.ArrayType):
        return list[python_type(kind.elementType) | None]  # type: ignore[misc]
    if isinstance(kind, T.MapType):
        return dict[python_type(kind.keyType), python_type(kind.valueType) | None]  # type: ignore[misc]
    if type(kind) not in _PYTHON:
        raise BadOption("valueSchema", f"type {kind.simpleString()} cannot be decoded: use string")
    return _PYTHON[type(kind)]


def by_msgspec(value_format: str, schema: T.StructType) -> Decode:
    """Return the decoder for valueFormat json or msgpack."""
    kind = python_type(schema)
    if value_format == "json":
        return msgspec.json.Decoder(kind).decode
    return msgspec.msgpack.Decoder(kind).decode


def by_function(name: str) -> Decode:
    """Return the user's module:function, which takes a message's bytes and returns a dict with valueSchema's names."""
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadOption("valueFormat", f"{name}: there is no such function: {error}") from None
    if not callable(found):
        raise BadOption("valueFormat", f"{name} is not a function")
    decode: Decode = found
    return decode
