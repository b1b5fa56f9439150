# SPDX-License-Identifier: Apache-2.0
"""Objects of a program as plain values, or BadArgument that names the field.

Plain values are what all encodings carry and what decoding without a class returns: bool, int, float, str, bytes, an
aware datetime in UTC, date, timedelta, UUID, Decimal, the value of an enum, list, and dict. Moments and durations in
nanoseconds are int.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import sys
import uuid
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from slipring.errors import BadArgument

from . import field_types as kinds
from .bound_classes import Bound, plain

UTC = datetime.UTC
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
LONGEST = MICROSECOND * ((1 << 63) - 1)  # of the durations in 64 bits of microseconds
_INT64 = range(-(1 << 63), 1 << 63)


def to_plain(kind: kinds.Type, value: Any, *, bound: Bound | None = None, finite: bool = False) -> Any:
    """Return the plain value of an object. finite: NaN and infinities are refused, as JSON has none."""
    try:
        return _value(kind, plain(kind) if bound is None else bound, value, "", finite)
    except RecursionError:
        raise BadArgument("the value contains itself", argument="value") from None


def fits_decimal(value: decimal.Decimal, precision: int, scale: int) -> bool:
    """Return whether the number has at most `scale` digits after the point and `precision` in all."""
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return False
    if not value:
        return abs(exponent) <= kinds.MOST_PRECISION
    count = len(digits)
    while -exponent > scale and digits[count - 1] == 0:  # zeros at the end do not count
        count, exponent = count - 1, exponent + 1
    return -exponent <= scale and count + exponent <= precision - scale


def _refuse(path: str, value: Any, expected: str) -> NoReturn:
    shown = repr(value)
    if len(shown) > 60:
        shown = shown[:57] + "…"
    field = path or "value"
    raise BadArgument(f"{field}={shown} ({type(value).__name__}) must be {expected}", argument=field)


def _value(kind: kinds.Type, bound: Bound, value: Any, path: str, finite: bool) -> Any:
    match kind:
        case kinds.Nullable(item=item):
            return None if value is None else _value(item, bound.parts[0], value, path, finite)
        case kinds.Struct():
            return _struct(kind, bound, value, path, finite)
        case kinds.List(item=item):
            return _items(item, bound.parts[0], _sequence(kind, value, path), path, finite)
        case kinds.Array(item=item, shape=shape):
            return _array(kind, shape, bound.parts[0], value, path, finite)
        case kinds.Map(item=item):
            return _map(kind, bound.parts[0], value, path, finite)
        case kinds.Float():
            return _float(kind, value, path, finite)
        case kinds.Enum():
            return _enum(kind, bound, value, path)
    return _LEAVES[type(kind)](kind, value, path)


def _struct(kind: kinds.Struct, bound: Bound, value: Any, path: str, finite: bool) -> dict[str, Any]:
    get: Callable[[kinds.Field], Any]
    numpy: Any = sys.modules.get("numpy")
    if (
        numpy is not None
        and isinstance(value, (numpy.void, numpy.ndarray))
        and value.dtype.names
        and not value.shape
    ):
        value = {name: value[name] for name in value.dtype.names}
    if isinstance(value, Mapping):
        names = {each.name for each in kind.fields}
        for key in value:
            if key not in names:
                field = kinds.within(path, str(key))
                known = ", ".join(each.name for each in kind.fields)
                raise BadArgument(
                    f"{field} is not a field of the schema: its fields are {known}", argument=field
                )

        def get(each: kinds.Field) -> Any:
            return value.get(each.name, each.default)

    elif bound.cls is not None and bound.attributes and isinstance(value, bound.cls):

        def get(each: kinds.Field) -> Any:
            return getattr(value, each.name, kinds.REQUIRED)

    else:
        name = bound.cls.__name__ if bound.cls is not None else ""
        _refuse(path, value, f"{name} or a dict" if name and bound.attributes else "a dict")
    found = {}
    for each, inner in zip(kind.fields, bound.parts, strict=True):
        content, field = get(each), kinds.within(path, each.name)
        if content is kinds.REQUIRED:
            raise BadArgument(f"{field} is missing: it is {each.type}", argument=field)
        found[each.name] = _value(each.type, inner, content, field, finite)
    return found


def _sequence(kind: kinds.Type, value: Any, path: str) -> list[Any] | tuple[Any, ...]:
    if isinstance(value, (list, tuple)):
        return value
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray) and value.ndim and value.dtype.names is None:
        found: list[Any] = list(value) if value.dtype.kind in "mM" else value.tolist()
        return found
    _refuse(path, value, f"{kind}: a list, a tuple or a numpy array")


def _items(item: kinds.Type, bound: Bound, values: Any, path: str, finite: bool) -> list[Any]:
    return [_value(item, bound, each, f"{path}[{at}]", finite) for at, each in enumerate(values)]


def _array(
    kind: kinds.Array, shape: tuple[int, ...], bound: Bound, value: Any, path: str, finite: bool
) -> list[Any]:
    items = _sequence(kind, value, path)
    if len(items) != shape[0]:
        _refuse(path, value, f"{kind}, with {shape[0]} items here, not {len(items)}")
    if len(shape) == 1:
        return _items(kind.item, bound, items, path, finite)
    return [_array(kind, shape[1:], bound, each, f"{path}[{at}]", finite) for at, each in enumerate(items)]


def _map(kind: kinds.Map, bound: Bound, value: Any, path: str, finite: bool) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        _refuse(path, value, f"{kind}: a dict")
    for key in value:
        if not isinstance(key, str):
            _refuse(path, key, "a str, as all keys")
        _text(kinds.Text(), key, path)
    return {
        str(key): _value(kind.item, bound, each, f"{path}[{key!r}]", finite) for key, each in value.items()
    }


def _number(value: Any, kinds: str) -> Any:
    """Return a numpy scalar of one of these kinds as a number of Python; everything else as it is."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.generic, numpy.ndarray)) or value.shape != ():
        return value
    if value.dtype.kind not in kinds:
        return value
    return value.item() if value.dtype.kind != "f" else float(value)


def _int(kind: kinds.Int, value: Any, path: str) -> int:
    found = _number(value, "iu")
    if isinstance(found, bool) or not isinstance(found, int) or isinstance(found, enum.Enum):
        _refuse(path, value, f"{kind}, an int")
    if not kind.lowest <= found <= kind.highest:
        _refuse(path, value, f"{kind}, {kind.lowest} to {kind.highest}")
    return int(found)


def _float(kind: kinds.Float, value: Any, path: str, finite: bool) -> float:
    found = _number(value, "fiu")
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        _refuse(path, value, f"{kind}, a float")
    try:
        found = float(found)
    except OverflowError:
        _refuse(path, value, f"{kind}, which has no such large numbers")
    if finite and not math.isfinite(found):
        _refuse(path, value, "a finite number: encoding json has neither NaN nor infinity, msgpack has")
    if math.isfinite(found) and abs(found) > kind.highest:
        _refuse(path, value, f"{kind}, which has no such large numbers")
    return found


def _bool(kind: kinds.Type, value: Any, path: str) -> bool:
    found = _number(value, "b")
    if not isinstance(found, bool):
        _refuse(path, value, "bool")
    return found


def _text(kind: kinds.Text, value: Any, path: str) -> str:
    if not isinstance(value, str) or isinstance(value, enum.Enum):
        _refuse(path, value, f"{kind}, a str")
    try:
        value.encode()
    except UnicodeEncodeError:
        _refuse(path, value, "text that can be encoded as UTF-8: it has a lone surrogate")
    if kind.most is not None and (len(value) > kind.most or value.endswith("\0")):
        _refuse(path, value, f"{kind}: at most {kind.most} characters, and no zero at the end")
    return str(value)


def _bytes(kind: kinds.Bytes, value: Any, path: str) -> bytes:
    numpy: Any = sys.modules.get("numpy")
    scalar = numpy is not None and isinstance(value, numpy.void) and value.dtype.names is None
    if not scalar and not isinstance(value, (bytes, bytearray, memoryview)):
        _refuse(path, value, f"{kind}, a bytes-like object")
    found = value.tobytes() if scalar else bytes(value)
    if kind.size is not None and len(found) != kind.size:
        _refuse(path, value, f"{kind}, with {kind.size} bytes, not {len(found)}")
    if kind.most is not None and (len(found) > kind.most or found.endswith(b"\0")):
        _refuse(path, value, f"{kind}: at most {kind.most} bytes, and no zero at the end")
    return found


def _nanoseconds(value: Any, kind: str) -> Any:
    """Return a numpy moment (kind "M") or duration ("m") as int nanoseconds; everything else as it is."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.datetime64 if kind == "M" else numpy.timedelta64)):
        return value
    if numpy.isnat(value):
        return None
    unit, count = numpy.datetime_data(value.dtype)
    factors = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}
    return int(value.astype("i8")) * count * factors[unit] if unit in factors else value


def _timestamp(kind: kinds.Timestamp, value: Any, path: str) -> datetime.datetime | int:
    found = _nanoseconds(value, "M")
    number = type(found) is int and (found is not value or kind.unit == "ns")
    expected = f"{kind}: a datetime with a time zone" + (" or int nanoseconds" if kind.unit == "ns" else "")
    try:
        if number and kind.unit == "us":
            if found % 1000:
                _refuse(path, value, f"{kind}, with whole microseconds")
            found = EPOCH + found // 1000 * MICROSECOND
        elif number and found not in _INT64:
            _refuse(path, value, f"{kind}, which fits int64")
        if type(found) is int and number:
            return found
        if not isinstance(found, datetime.datetime) or found.utcoffset() is None:
            _refuse(path, value, expected)
        if kind.unit == "us":
            return found.astimezone(UTC).replace(fold=0)
        count = (found - EPOCH) // MICROSECOND * 1000
    except OverflowError:
        _refuse(path, value, f"{kind}, of the years 1 to 9999")
    if count not in _INT64:
        _refuse(path, value, f"{kind}, of the years 1678 to 2262")
    return count


def _duration(kind: kinds.Duration, value: Any, path: str) -> datetime.timedelta | int:
    found = _nanoseconds(value, "m")
    if type(found) is int and found is not value and kind.unit == "us":
        if found % 1000:
            _refuse(path, value, f"{kind}, with whole microseconds")
        found = found // 1000 * MICROSECOND if abs(found) <= 1 << 73 else value
    if kind.unit == "ns" and isinstance(found, datetime.timedelta):
        found = found // MICROSECOND * 1000
    if kind.unit == "ns" and type(found) is int:
        if found not in _INT64:
            _refuse(path, value, f"{kind}, which fits int64")
        return found
    if not isinstance(found, datetime.timedelta):
        _refuse(path, value, f"{kind}: a timedelta" + (" or int nanoseconds" if kind.unit == "ns" else ""))
    if not -LONGEST <= found <= LONGEST:
        _refuse(path, value, f"{kind}, which fits 64 bits of microseconds")
    return found


def _date(kind: kinds.Type, value: Any, path: str) -> datetime.date:
    if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
        _refuse(path, value, "a datetime.date")
    return value


def _uuid(kind: kinds.Type, value: Any, path: str) -> uuid.UUID:
    if not isinstance(value, uuid.UUID):
        _refuse(path, value, "a uuid.UUID")
    return value


def _decimal(kind: kinds.Decimal, value: Any, path: str) -> decimal.Decimal:
    if type(value) is int:
        value = decimal.Decimal(value)
    if not isinstance(value, decimal.Decimal) or not fits_decimal(value, kind.precision, kind.scale):
        _refuse(
            path, value, f"{kind}: a finite decimal.Decimal with at most {kind.scale} digits after the point"
        )
    return value


def _enum(kind: kinds.Enum, bound: Bound, value: Any, path: str) -> str | int:
    found = value
    if isinstance(value, enum.Enum):
        if bound.cls is None or not isinstance(value, bound.cls):
            _refuse(path, value, f"{kind}" if bound.cls is None else f"a member of {bound.cls.__name__}")
        found = value.value
    if type(found) is not kind.kind or all(found != allowed for _, allowed in kind.values):
        _refuse(path, value, str(kind))
    return found  # type: ignore[return-value]


_LEAVES: dict[type[kinds.Type], Callable[[Any, Any, str], Any]] = {
    kinds.Int: _int,
    kinds.Bool: _bool,
    kinds.Text: _text,
    kinds.Bytes: _bytes,
    kinds.Timestamp: _timestamp,
    kinds.Duration: _duration,
    kinds.Date: _date,
    kinds.Uuid: _uuid,
    kinds.Decimal: _decimal,
}
