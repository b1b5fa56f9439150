# SPDX-License-Identifier: Apache-2.0
"""Encodings msgpack and json: a structure is a map with all its fields, in the order of the schema.

Objects that msgspec writes as the schema has it go to it at once, after a compiled check (fast_checks.py). All others
become plain values first.
"""

from __future__ import annotations

import copy
import datetime
import re
import typing
from collections.abc import Callable
from typing import Any

from slipring.errors import BadArgument, Undecodable

from .. import bound_classes, packages
from .. import field_types as kinds
from ..bound_classes import PYTHON_CLASSES, Bound
from ..plain_values import to_plain
from . import fast_checks
from .untyped_values import from_untyped

if typing.TYPE_CHECKING:
    from ..compatibility import View
    from ..topic_schema import Schema

_WHERE = re.compile(r" - at `(?:key in )?\$(?P<path>.*?)`$")
_NAMED = re.compile(r"missing required field `(?P<field>\w+)`")


def encoder(schema: Schema, bound: Bound | None) -> Callable[[Any], bytes]:
    """Return the function that encodes objects of the bound class, and dicts."""
    return value_encoder(schema.root, bound, schema.encoding)


def value_encoder(kind: kinds.Type, bound: Bound | None, encoding: str = "msgpack") -> Callable[[Any], bytes]:
    """Return the function that encodes plain values and those of the bound class, or raises BadArgument."""
    encode = getattr(packages.msgspec(), encoding).Encoder().encode
    finite = encoding == "json"

    def otherwise(value: Any) -> bytes:
        plain = to_plain(kind, value, bound=bound, finite=finite)
        found: bytes = encode(plain)
        return found

    fast: Callable[[Any], Any] = otherwise
    for each in (bound_classes.plain(kind), bound):  # the last one is tried first
        if each is not None and each.native:
            fast = fast_checks.encoder(kind, each, encode, fast, finite=finite)
    return fast


def decoder(view: View) -> Callable[[Any], Any]:
    """Return the function that decodes bodies into the class of the view, or into a dict."""
    schema = view.found
    decode = _plain_decoder(schema)
    bound = view.bound
    if bound is None:
        return decode
    kind = view.own.root

    def build(body: Any) -> Any:
        return bound_classes.build(kind, bound, decode(body))

    if not view.native:
        return build
    direct = getattr(packages.msgspec(), schema.encoding).Decoder(bound.annotation).decode
    # `build` names the field that does not fit; a field with a default may be absent.
    return fast_checks.decoder(view.shared, view.shared_bound, direct, build)


def value_decoder(kind: kinds.Type, bound: Bound, untyped: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the function that decodes msgpack of any type into objects of the program, or raises Undecodable.

    untyped(body) decodes without a type. A body that is not as the schema has it may still hold a value that fits: a
    numpy array for a list, the items of a NamedTuple for a structure.
    """

    def build(body: Any) -> Any:
        given = from_untyped(kind, bound, untyped(body))
        try:
            plain = to_plain(kind, given, bound=bound)
        except BadArgument as error:
            raise Undecodable(str(error), field=error.argument) from None
        return bound_classes.build(kind, bound, plain)

    if not bound.native:
        return build
    direct = packages.msgspec().msgpack.Decoder(bound.annotation).decode
    return fast_checks.decoder(kind, bound, direct, build)  # `build` names the field, with its index


def _plain_decoder(schema: Schema) -> Callable[[Any], Any]:
    msgspec = packages.msgspec()
    kind, bound = schema.root, bound_classes.plain(schema.root)
    decode = getattr(msgspec, schema.encoding).Decoder(_annotation(kind)).decode

    def otherwise(body: Any) -> Any:
        try:
            value = decode(body)
        except Exception as error:  # msgspec has several  # noqa: BLE001
            raise undecodable(error) from None
        return _checked(kind, bound, _filled(kind, value))

    return fast_checks.decoder(kind, bound, decode, otherwise)


def undecodable(error: Exception) -> Undecodable:
    """Return the error for one of msgspec's, with the field that it names."""
    text = str(error) or type(error).__name__
    where = _WHERE.search(text)
    field = where["path"].removeprefix(".").replace("[...]", "[]") if where is not None else ""
    named = _NAMED.search(text)
    if named is not None:
        field = kinds.within(field, named["field"])
        return Undecodable(f"{field} is missing", field=field)
    why = _WHERE.sub("", text).replace("`", "").replace("Expected", "expected")
    return Undecodable(f"{field}: {why}" if field else why, field=field)


def _checked(kind: kinds.Type, bound: Bound, value: Any) -> Any:
    """Return the plain value, with moments in UTC; the error names a field that does not fit."""
    try:
        return to_plain(kind, value, bound=bound)
    except BadArgument as error:
        raise Undecodable(str(error), field=error.argument) from None


def _filled(kind: kinds.Type, value: Any) -> Any:
    """Return the value with the defaults of fields that are absent."""
    match kind:
        case _ if value is None:
            return None
        case kinds.Nullable(item=item):
            return _filled(item, value)
        case kinds.List(item=item):
            return [_filled(item, each) for each in value]
        case kinds.Map(item=item):
            return {key: _filled(item, each) for key, each in value.items()}
        case kinds.Array(row=inner):
            return [_filled(inner, each) for each in value]
        case kinds.Struct(fields=fields):
            given = {each.name: value.get(each.name, kinds.REQUIRED) for each in fields}
            return {
                each.name: copy.deepcopy(each.default)
                if given[each.name] is kinds.REQUIRED
                else _filled(each.type, given[each.name])
                for each in fields
            }
    return value


def _annotation(kind: kinds.Type) -> Any:
    """Return what msgspec decodes plain values of this type into."""
    meta = packages.msgspec().Meta
    match kind:
        case kinds.Nullable(item=item):
            return typing.Optional[_annotation(item)]  # noqa: UP045 - X | None fails for some annotations
        case kinds.List(item=item):
            return list[_annotation(item)]  # type: ignore[misc]
        case kinds.Map(item=item):
            return dict[str, _annotation(item)]  # type: ignore[misc]
        case kinds.Array(item=item, shape=shape):
            found = _annotation(item)
            for size in reversed(shape):
                found = typing.Annotated[list[found], meta(min_length=size, max_length=size)]  # type: ignore[valid-type]
            return found
        case kinds.Enum(values=values):
            return typing.Literal[tuple(value for _, value in values)]
        case kinds.Struct(fields=fields):
            members = {
                each.name: _annotation(each.type)
                if each.default is kinds.REQUIRED
                else typing.NotRequired[_annotation(each.type)]
                for each in fields
            }
            return typing.TypedDict("Structure", members)  # type: ignore[operator]
        case kinds.Timestamp(unit="us"):
            return typing.Annotated[datetime.datetime, meta(tz=True)]
        case kinds.Duration(unit="us"):
            return datetime.timedelta
        case kinds.Timestamp() | kinds.Duration():
            return int
    return PYTHON_CLASSES[type(kind)]
