# SPDX-License-Identifier: Apache-2.0
"""Checks of whole messages, compiled to one Python function for each schema.

msgspec encodes what it is given and does not compare it with annotations; decoding, it does not know sizes of integers.
These functions do both, with one test of a type for each field. What they do not accept goes to plain_values.py, which
converts it or names the field: a check may refuse too much, but accepts nothing that does not fit.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from itertools import chain
from operator import countOf
from typing import Any

from .. import field_types as kinds
from ..bound_classes import PYTHON_CLASSES, Bound
from ..plain_values import LONGEST, UTC, fits_decimal

_FEW = 4  # items of an array that are tested one by one, without a loop


def encoder(
    kind: kinds.Type, bound: Bound, encode: Any, otherwise: Any, *, finite: bool
) -> Callable[[Any], Any]:
    """Return a function that encodes an object which fits; `otherwise` gets every other object.

    finite: NaN and infinities do not fit. msgspec writes them as null in JSON: without fields that can be None, one
    search of the body costs less than a test of each float.
    """
    search = finite and not _has_none(kind)
    writer = _Writer(finite and not search)
    condition = writer.joined(writer.given(kind, bound, "value"))
    result = 'body = encode(value)\n            if b"null" not in body:\n                return body'
    return writer.function(
        f"def function(value):\n    try:\n        if {condition}:\n            "
        f"{result if search else 'return encode(value)'}\n"
        "    except Exception:\n        pass\n    return otherwise(value)\n",
        encode=encode,
        otherwise=otherwise,
    )


def decoder(kind: kinds.Type, bound: Bound, decode: Any, bad: Any, otherwise: Any) -> Callable[[Any], Any]:
    """Return a function that decodes a body. bad(body, error) gets the body that `decode` refuses, otherwise(value) the
    value that does not fit the type."""
    writer = _Writer(finite=False)
    conditions = writer.found(kind, bound, "value")
    fits = f"        if {writer.joined(conditions)}:\n    " if conditions else ""
    return writer.function(
        f"def function(body):\n    try:\n        value = decode(body)\n{fits}        return value\n"
        "    except Exception as error:\n        return bad(body, error)\n    return otherwise(value)\n",
        decode=decode,
        bad=bad,
        otherwise=otherwise,
    )


def _has_none(kind: kinds.Type) -> bool:
    return isinstance(kind, kinds.Nullable) or any(_has_none(part) for part in kind.parts())


class _Writer:
    def __init__(self, finite: bool) -> None:
        self._finite = finite
        self._names: dict[str, Any] = {
            "count_of": countOf,
            "fits_decimal": fits_decimal,
            "INF": math.inf,
        }
        self._functions: list[str] = []
        self._count = 0

    def function(self, source: str, **names: Any) -> Callable[[Any], Any]:
        scope = {**self._names, **names}
        # The source has names of fields, which are identifiers, and numbers; all else is in the scope.
        exec("".join([*self._functions, source]), scope)
        made: Callable[[Any], Any] = scope["function"]
        return made

    @staticmethod
    def joined(conditions: list[str]) -> str:
        return " and ".join(conditions) or "True"

    def _new(self, value: Any = None, prefix: str = "v") -> str:
        self._count += 1
        name = f"{prefix}{self._count}"
        if value is not None:
            self._names[name] = value
        return name

    def _loop(self, conditions: list[str], item: str, over: str) -> str:
        """Return the condition that all items of `over` meet conditions on the variable `item`."""
        name = self._new(prefix="f")
        self._functions.append(f"def {name}({item}):\n    return {self.joined(conditions)}\n")
        return f"all(map({name}, {over}))"

    def given(self, kind: kinds.Type, bound: Bound, expression: str) -> list[str]:
        """Return the conditions on an object that is to be encoded."""
        if isinstance(kind, kinds.Nullable):
            name = self._new()
            inner = self.joined(self.given(kind.item, bound.parts[0], name))
            return [f"(({name} := {expression}) is None or ({inner}))"]
        name = self._new()
        start = f"type({name} := {expression}) is"
        if isinstance(kind, kinds.Struct):
            parts = list(zip(kind.fields, bound.parts, strict=True))
            if bound.attributes:
                fields = [self.given(each.type, part, f"{name}.{each.name}") for each, part in parts]
                return [f"{start} {self._new(bound.cls, 'k')}", *chain(*fields)]
            fields = [self.given(each.type, part, f"{name}[{each.name!r}]") for each, part in parts]
            return [f"{start} dict", f"len({name}) == {len(parts)}", *chain(*fields)]
        if isinstance(kind, kinds.List):
            return [f"({start} list or type({name}) is tuple)", *self._items(kind.item, bound.parts[0], name)]
        if isinstance(kind, kinds.Array):
            return self._given_array(kind.item, kind.shape, bound, expression)
        if isinstance(kind, kinds.Map):
            texts = f"count_of(map(type, {name}), str) == len({name})"
            return [f"{start} dict", texts, *self._items(kind.item, bound.parts[0], f"{name}.values()")]
        if isinstance(kind, kinds.Enum) and bound.cls is not None:
            return [f"type({expression}) is {self._new(bound.cls, 'k')}"]
        if isinstance(kind, kinds.Enum):
            allowed = self._new(frozenset(value for _, value in kind.values), "k")
            return [f"{start} {kind.kind.__name__}", f"{name} in {allowed}"]
        cls = self._class(kind)
        conditions = self._of_value(kind, name)
        if not conditions:
            return [
                f"type({expression}) is {cls.__name__}"
                if cls in (float, bool, str, bytes)
                else f"type({expression}) is {self._new(cls, 'k')}"
            ]
        return [
            f"{start} {self._new(cls, 'k') if cls is not int and cls is not float else cls.__name__}",
            *conditions,
        ]

    def _class(self, kind: kinds.Type) -> type:
        if isinstance(kind, kinds.Timestamp):
            return datetime.datetime if kind.unit == "us" else int
        if isinstance(kind, kinds.Duration):
            return datetime.timedelta if kind.unit == "us" else int
        return PYTHON_CLASSES[type(kind)]

    def _of_value(self, kind: kinds.Type, name: str) -> list[str]:
        """Return the conditions on a value of the right class that is to be encoded."""
        match kind:
            case kinds.Float() if kind.bits < 64:
                return [f"-{kind.highest!r} <= {name} <= {kind.highest!r}"]
            case kinds.Float() if self._finite:
                return [f"{name} - {name} == 0.0"]
            case kinds.Timestamp(unit="us"):
                return [f"{name}.tzinfo is {self._new(UTC, 'k')}"]
            case kinds.Text(most=most) | kinds.Bytes(most=most) if most is not None:
                return [
                    *self._range(kind, name),
                    f"{name}[-1:] != {'chr(0)' if isinstance(kind, kinds.Text) else bytes(1)!r}",
                ]
        return self._range(kind, name)

    def _range(self, kind: kinds.Type, name: str) -> list[str]:
        """Return the conditions that hold for values both given and found."""
        match kind:
            case kinds.Int():
                return [f"{kind.lowest} <= {name} <= {kind.highest}"]
            case kinds.Timestamp(unit="ns") | kinds.Duration(unit="ns"):
                return [f"{-(1 << 63)} <= {name} <= {(1 << 63) - 1}"]
            case kinds.Duration():
                longest = self._new(LONGEST, "k")
                return [f"-{longest} <= {name} <= {longest}"]
            case kinds.Decimal():
                return [f"fits_decimal({name}, {kind.precision}, {kind.scale})"]
            case kinds.Bytes(size=size) if size is not None:
                return [f"len({name}) == {size}"]
            case kinds.Text(most=most) | kinds.Bytes(most=most) if most is not None:
                return [f"len({name}) <= {most}"]
        return []

    def _items(self, item: kinds.Type, bound: Bound, over: str) -> list[str]:
        """Return the conditions on the items of a list, a tuple or the values of a dict."""
        plain = not isinstance(
            item, (kinds.Struct, kinds.List, kinds.Array, kinds.Map, kinds.Nullable, kinds.Enum)
        )
        conditions = self._of_value(item, "item") if plain else []
        if plain and (not conditions or isinstance(item, kinds.Int)):
            classes = f"count_of(map(type, {over}), {self._new(self._class(item), 'k')}) == len({over})"
            if not conditions:
                return [classes]
            assert isinstance(item, kinds.Int)
            limits = f"(not {over} or {item.lowest} <= min({over}) and max({over}) <= {item.highest})"
            return [classes, limits]
        name = self._new()
        return [self._loop(self.given(item, bound, name), name, over)]

    def _given_array(
        self, item: kinds.Type, shape: tuple[int, ...], bound: Bound, expression: str
    ) -> list[str]:
        name, inner = self._new(), bound.parts[0]
        start = [
            f"(type({name} := {expression}) is tuple or type({name}) is list)",
            f"len({name}) == {shape[0]}",
        ]
        if len(shape) > 1:
            row = self._new()
            return [*start, self._loop(self._given_array(item, shape[1:], bound, row), row, name)]
        if shape[0] <= _FEW:
            items = (self.given(item, inner, f"{name}[{at}]") for at in range(shape[0]))
            return [*start, *chain(*items)]
        return [*start, *self._items(item, inner, name)]

    def found(self, kind: kinds.Type, bound: Bound, expression: str) -> list[str]:
        """Return the conditions on a decoded value that msgspec does not check by itself."""
        name = self._new()
        inner: list[str]
        match kind:
            case kinds.Nullable(item=item):
                inner = self.found(item, bound.parts[0], name)
                return [f"(({name} := {expression}) is None or ({self.joined(inner)}))"] if inner else []
            case kinds.Struct(fields=fields):
                inner = []
                for each, part in zip(fields, bound.parts, strict=True):
                    of = f"{name}.{each.name}" if bound.attributes else f"{name}[{each.name!r}]"
                    inner += self.found(each.type, part, of)
                if bound.annotation is None and any(each.default is not kinds.REQUIRED for each in fields):
                    inner.insert(0, f"len({name}) == {len(fields)}")
                return [f"(({name} := {expression}) is not None)", *inner] if inner else []
            case kinds.List(item=item):
                return self._found_items(item, bound.parts[0], expression)
            case kinds.Map(item=item):
                return self._found_items(item, bound.parts[0], f"({expression}).values()")
            case kinds.Array(item=item, shape=shape):
                return self._found_array(item, shape, bound, expression)
            case kinds.Float() if kind.bits < 64:
                return [f"not {kind.highest!r} < abs({expression}) < INF"]
            case kinds.Timestamp(unit="us") if bound.annotation is not None:
                return [f"({expression}).tzinfo is not None"]
        conditions = self._range(kind, name)
        if not conditions:
            return []
        return [
            *(each.replace(name, f"({name} := {expression})", 1) for each in conditions[:1]),
            *conditions[1:],
        ]

    def _found_items(self, item: kinds.Type, bound: Bound, over: str) -> list[str]:
        name = self._new()
        inner = self.found(item, bound, name)
        return [self._loop(inner, name, over)] if inner else []

    def _found_array(
        self, item: kinds.Type, shape: tuple[int, ...], bound: Bound, expression: str
    ) -> list[str]:
        name = self._new()
        if len(shape) > 1:
            row = self._new()
            inner = self._found_array(item, shape[1:], bound, row)
            loop = [self._loop(inner, row, name)] if inner else []
        else:
            loop = self._found_items(item, bound.parts[0], name)
        if bound.annotation is None:  # msgspec compares the lengths of plain lists
            return [f"(({name} := {expression}) is not None)", *loop] if loop else []
        return [f"len({name} := {expression}) == {shape[0]}", *loop]
