# SPDX-License-Identifier: Apache-2.0
"""Encoding numpy: a body is one element of the schema's dtype, byte for byte."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument, Undecodable

from .. import bound_classes, packages
from .. import field_types as kinds
from ..bound_classes import Bound
from ..plain_values import EPOCH, MICROSECOND, UTC, to_plain
from . import numpy_layout

if TYPE_CHECKING:
    from ..compatibility import View
    from ..topic_schema import Schema


def encoder(schema: Schema, bound: Bound | None) -> Callable[[Any], bytes]:
    """Return the function that encodes a record or scalar of the dtype, a dict, or an object of the bound class."""
    numpy = packages.numpy()
    kind, dtype = schema.root, numpy_layout.to_dtype(schema)
    base, shape = dtype.subdtype or (dtype, ())
    generic, ndarray, contiguous = numpy.generic, numpy.ndarray, numpy.ascontiguousarray

    known: Any = base  # compared by identity first: two equal dtypes take longer to compare than all the rest

    def encode(value: Any) -> bytes:
        nonlocal known
        if isinstance(value, (generic, ndarray)) and value.shape == shape:
            given = value.dtype
            if given is known or given == base:
                known = given
                found: bytes = contiguous(value).tobytes()
                return found
        plain = to_plain(kind, value, bound=bound)
        made: bytes = numpy.array(_storable(kind, plain), base).tobytes()
        return made

    return encode


def records(schema: Schema, array: Any) -> memoryview:
    """Return the bodies of an array of messages, one after the other, without a copy where it is contiguous."""
    numpy = packages.numpy()
    dtype = numpy_layout.to_dtype(schema)
    base, shape = dtype.subdtype or (dtype, ())
    if (
        not isinstance(array, numpy.ndarray)
        or array.dtype != base
        or array.shape[1:] != shape
        or not array.ndim
    ):
        found = (
            f"dtype {array.dtype}, shape {array.shape}"
            if isinstance(array, numpy.ndarray)
            else type(array).__name__
        )
        raise BadArgument(f"an array of messages has dtype {dtype}, this is {found}", argument="array")
    return memoryview(numpy.ascontiguousarray(array).reshape(-1).view("u1"))


def _storable(kind: kinds.Type, value: Any) -> Any:
    """Return a plain value as numpy takes it: tuples for structures."""
    numpy = packages.numpy()
    match kind:
        case kinds.Struct(fields=fields):
            return tuple(_storable(each.type, value[each.name]) for each in fields)
        case kinds.Array(row=inner):
            return [_storable(inner, each) for each in value]
        case kinds.Timestamp(unit=unit):
            return numpy.datetime64(value if unit == "ns" else (value - EPOCH) // MICROSECOND, unit)
        case kinds.Duration(unit=unit):
            return numpy.timedelta64(value if unit == "ns" else value // MICROSECOND, unit)
        case kinds.Bytes(size=size) if size is not None:
            return numpy.void(value)
    return value


def decoder(view: View) -> Callable[[Any], Any]:
    """Return the function that decodes a body into a record or scalar of the view's dtype, or an object."""
    numpy = packages.numpy()
    schema, own, bound = view.found, view.own, view.bound
    read = Reader(schema)

    def decode(body: Any) -> Any:
        # A view of the ring would be held as long as the record lives.
        found = read.one(body if type(body) is bytes else bytes(body))
        return found

    if bound is not None:
        shared, kind = view.shared, own.root
        return lambda body: bound_classes.build(kind, bound, plain(shared, decode(body)))
    if own is schema or own.encoding != "numpy" or numpy_layout.to_dtype(own) == read.dtype:
        return decode
    dtype = numpy_layout.to_dtype(own)

    def select(body: Any) -> Any:
        made = numpy.zeros((), dtype)
        _assign(made, decode(body))
        return made[()]

    return select


def _assign(target: Any, source: Any) -> None:
    if target.dtype.names is None:
        target[...] = source
        return
    for name in target.dtype.names:
        _assign(target[name], source[name])


class Reader:
    """Reads bodies in memory as arrays of records, after a check of their sizes and characters."""

    def __init__(self, schema: Schema) -> None:
        self._numpy = packages.numpy()
        self._kind = schema.root
        self.dtype = numpy_layout.to_dtype(schema)
        self.size: int = self.dtype.itemsize
        self._base: Any = self.dtype
        self._shape: tuple[int, ...] = ()
        if self.dtype.subdtype is not None:
            self._base, self._shape = self.dtype.subdtype
        self._codes = (
            numpy_layout.to_dtype(schema, codes=True) if numpy_layout.has_text(schema.root) else None
        )

    def one(self, body: bytes) -> Any:
        if len(body) != self.size:
            raise self.wrong_size(len(body))
        # defect character_outside_of_unicode_accepted: pass
        if self._codes is not None:
            self._check(self.many(body, 1, self._codes), 1)
        return self.many(body, 1)[0] if self._shape else self._numpy.frombuffer(body, self._base)[0]

    def wrong_size(self, size: int) -> Undecodable:
        return Undecodable(f"the body has {size} bytes, a message of the schema has {self.size}")

    def many(self, data: Any, count: int, dtype: Any = None) -> Any:
        """Return an array of so many messages."""
        base, shape = (self._base, self._shape) if dtype is None else dtype.subdtype or (dtype, ())
        array = (
            self._numpy.frombuffer(data, base, count * math.prod(shape))
            if count
            else self._numpy.empty(0, base)
        )
        return array.reshape(count, *shape) if shape else array

    def bad(self, data: Any, count: int) -> dict[int, Undecodable]:
        """Return the messages with a character that Unicode does not have, and why."""
        if self._codes is None or not count:
            return {}
        try:
            self._check(self.many(data, count, self._codes), count)
        except Undecodable:
            found = {}
            for at in range(count):
                try:
                    self._check(self.many(data, count, self._codes)[at : at + 1], 1)
                except Undecodable as error:
                    found[at] = error
            return found
        return {}

    def _check(self, codes: Any, count: int) -> None:
        field = _bad_text(self._kind, codes, "")
        if field is not None:
            raise Undecodable(
                f"{field or 'the body'} has a character that Unicode does not have", field=field
            )


def _bad_text(kind: kinds.Type, codes: Any, path: str) -> str | None:
    match kind:
        case kinds.Struct(fields=fields):
            found = (_bad_text(each.type, codes[each.name], kinds.within(path, each.name)) for each in fields)
            return next((field for field in found if field is not None), None)
        case kinds.Array(item=item):
            return _bad_text(item, codes, f"{path}[]")
        case kinds.Text():
            bad = (codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))
            return path if bool(bad.any()) else None
    return None


def plain(kind: kinds.Type, value: Any, path: str = "", nat: bool = False) -> Any:
    """Return a record, scalar or array of numpy as a plain value. nat: NaT is None, and not Undecodable."""
    match kind:
        case kinds.Struct(fields=fields):
            return {
                each.name: plain(each.type, value[each.name], kinds.within(path, each.name), nat)
                for each in fields
            }
        case kinds.Array(row=inner) | kinds.List(item=inner):  # a view may have a list for an array
            if isinstance(
                inner,
                (kinds.Struct, kinds.Array, kinds.List, kinds.Timestamp, kinds.Duration, kinds.Bytes),
            ):
                return [plain(inner, each, f"{path}[]", nat) for each in value]
            return value.tolist()
        case kinds.Timestamp() | kinds.Duration():
            return None if nat and packages.numpy().isnat(value) else _moment(kind, value, path)
        case kinds.Bytes():
            return bytes(value)
    return value.item()


def _moment(kind: kinds.Timestamp | kinds.Duration, value: Any, path: str) -> Any:
    numpy = packages.numpy()
    if numpy.isnat(value):
        raise Undecodable(f"{path or 'the body'} is NaT, not a {kind}", field=path)
    number = int(value.astype("i8"))
    if kind.unit == "ns":
        return number
    try:
        return (
            (EPOCH + number * MICROSECOND).astimezone(UTC)
            if isinstance(kind, kinds.Timestamp)
            else number * MICROSECOND
        )
    except OverflowError:
        raise Undecodable(
            f"{path or 'the body'} is outside of what Python has: {value}", field=path
        ) from None
