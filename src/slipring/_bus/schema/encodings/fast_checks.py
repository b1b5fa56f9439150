# SPDX-License-Identifier: Apache-2.0
"""Checks of whole messages, compiled for each schema and run by the binding (src/slipring/_native/checks).

msgspec encodes what it is given and does not compare it with annotations; decoding, it does not know sizes of integers.
A check does both, with one test of a class for each field. What it does not accept goes to plain_values.py, which
converts it or names the field: a check may refuse too much, but accepts nothing that does not fit.

A check is a tuple: how, the exact class, and what this way needs. None stands for a check that everything passes.
"""

from __future__ import annotations

import datetime
import functools
import types
import typing
from collections.abc import Callable
from typing import Any

from ...native import _native
from .. import field_types as kinds
from ..bound_classes import PYTHON_CLASSES, Bound
from ..plain_values import LONGEST, UTC, fits_decimal

Check = tuple[str, Any, Any]


def encoder(
    kind: kinds.Type, bound: Bound, encode: Any, otherwise: Callable[[Any], bytes], *, finite: bool
) -> Callable[[Any], Any]:
    """Return a function that encodes an object which fits; `otherwise` gets every other one, and what `encode` refuses.

    finite: NaN and infinities do not fit.
    """
    return _native.Checked(encode, otherwise, _given(kind, bound, finite), None).call


def decoder(
    kind: kinds.Type, bound: Bound, decode: Any, otherwise: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """Return a function that decodes a body; `otherwise` gets one that is refused, or whose value does not fit."""
    return _native.Checked(decode, otherwise, None, _found(kind, bound)).call


def _given(kind: kinds.Type, bound: Bound, finite: bool) -> Check:
    """Return the check of an object that is to be encoded."""
    match kind:
        case kinds.Nullable(item=item):
            return "optional", None, (_given(item, bound.parts[0], finite),)
        case kinds.Struct(fields=fields):
            parts = [_given(each.type, part, finite) for each, part in zip(fields, bound.parts, strict=True)]
            return _structure(bound, [each.name for each in fields], parts, len(fields), encoded=True)
        case kinds.List(item=item):
            return "items", None, (0, -1, (_given(item, bound.parts[0], finite),))
        case kinds.Array(item=item, shape=shape):
            check = _given(item, bound.parts[0], finite)
            for size in reversed(shape):
                check = "items", None, (size, size, (check,))
            return check
        case kinds.Map(item=item):
            return "values", dict, (_given(item, bound.parts[0], finite),)
        case kinds.Enum() if bound.cls is not None:
            return "class", bound.cls, None
        case kinds.Enum(values=values):
            return "member", kind.kind, frozenset(value for _, value in values)
        case kinds.Float() if finite:
            return "float", float, (kind.highest, True)
        case kinds.Timestamp(unit="us"):
            return "zone", datetime.datetime, UTC
        case kinds.Text(most=most) | kinds.Bytes(most=most) if most is not None:
            return "size", PYTHON_CLASSES[type(kind)], (0, most, True)
    return _limits(kind) or ("class", PYTHON_CLASSES[type(kind)], None)


def _found(kind: kinds.Type, bound: Bound) -> Check | None:
    """Return the check of a decoded value, of what msgspec does not check by itself."""
    match kind:
        case kinds.Nullable(item=item):
            check = _found(item, bound.parts[0])
            return check and ("optional", None, (check,))
        case kinds.Struct(fields=fields):
            found = [
                (each.name, _found(each.type, part)) for each, part in zip(fields, bound.parts, strict=True)
            ]
            names = [name for name, part in found if part]
            filled = bound.annotation is None and any(each.default is not kinds.REQUIRED for each in fields)
            if not names and not filled:
                return None
            parts = [part for _, part in found if part]
            return _structure(bound, names, parts, len(fields) if filled else -1, encoded=False)
        case kinds.List(item=item):
            check = _found(item, bound.parts[0])
            return check and ("items", None, (0, -1, (check,)))
        case kinds.Map(item=item):
            check = _found(item, bound.parts[0])
            return check and ("values", dict, (check,))
        case kinds.Array(item=item, shape=shape):
            return _found_array(_found(item, bound.parts[0]), shape, bound)
        case kinds.Timestamp(unit="us"):
            return (
                "zone",
                datetime.datetime,
                UTC,
            )  # with another offset it may be before year 1 or after year 9999
        case kinds.Text(most=most) | kinds.Bytes(most=most) if most is not None:
            return "size", PYTHON_CLASSES[type(kind)], (0, most, True)
    return _limits(kind)


def _found_array(check: Check | None, shape: tuple[int, ...], bound: Bound) -> Check | None:
    arguments = typing.get_args(bound.annotation)
    exact = bound.annotation is None or (
        len(arguments) == shape[0] and bound.sequence is tuple and len(shape) == 1
    )
    if (
        check is None and exact
    ):  # msgspec compares the lengths of plain lists, and of a tuple with a type for each item
        return None
    for size in reversed(shape):
        check = "items", None, (size, size, (check,) if check else ())
    return check


def _limits(kind: kinds.Type) -> Check | None:
    """Return the check that holds for values both given and found, if there is more to check than the class."""
    match kind:
        case kinds.Int():
            return "int", int, (kind.lowest, kind.highest)
        case kinds.Float() if kind.bits < 64:
            return "float", float, (kind.highest, False)
        case kinds.Timestamp(unit="ns") | kinds.Duration(unit="ns"):
            return "int", int, (-(1 << 63), (1 << 63) - 1)
        case kinds.Duration():
            return "test", datetime.timedelta, _fits_duration
        case kinds.Decimal(precision=precision, scale=scale):
            fits = functools.partial(fits_decimal, precision=precision, scale=scale)
            return "test", PYTHON_CLASSES[kinds.Decimal], fits
        case kinds.Bytes(size=size) if size is not None:
            return "size", bytes, (size, size, False)
    return None


def _fits_duration(value: datetime.timedelta) -> bool:
    return -LONGEST <= value <= LONGEST


def _structure(bound: Bound, names: list[str], parts: list[Any], count: int, *, encoded: bool) -> Check:
    """Return the check of the fields, read where msgspec reads them. count: of all keys of a dict; -1 for any.

    A class keeps what it has at its declaration: slots, and how it looks up attributes.
    """
    cls, fields = bound.cls, (tuple(names), tuple(parts))
    if not bound.attributes:
        return "keys", dict, (count, *fields)
    is_struct = hasattr(cls, "__struct_fields__")
    if not is_struct and (cls.__getattribute__ is not object.__getattribute__ or hasattr(cls, "__getattr__")):
        return "attributes", cls, (-1, *fields)
    slots = all(isinstance(getattr(cls, name, None), types.MemberDescriptorType) for name in names)
    if slots and not hasattr(cls, "__del__"):
        blank = None if is_struct else _blank(cls)
        if is_struct or blank is not None:
            return "slots", cls, (blank, *fields)
    # The dict of a decoded object is not made yet, and would cost more than its attributes.
    return "dict" if encoded and not is_struct else "attributes", cls, (-1, *fields)


def _blank(cls: type) -> Any:
    """Return an object that is not initialized, or None if the class does not allow it."""
    try:
        return object.__new__(cls)
    except TypeError:
        return None
