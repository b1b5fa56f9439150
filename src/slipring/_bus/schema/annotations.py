# SPDX-License-Identifier: Apache-2.0
"""Classes of Python as types: dataclass, msgspec.Struct, TypedDict and NamedTuple, by their annotations.

What a schema cannot express raises BadArgument with the path of the field and what is allowed there.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import re
import sys
import types
import typing
import uuid
from typing import Any, NoReturn

from slipring.errors import BadArgument

from . import field_types as kinds
from .bound_classes import PYTHON_CLASSES, Bound
from .plain_values import to_plain

Pair = tuple[kinds.Type, Bound]
ALLOWED = (
    "int, float, bool, str, bytes, datetime, date, timedelta, UUID, Decimal, Enum, Literal, list[…], tuple[…], "
    "dict[str, …], … | None, a numpy scalar type, or a dataclass, msgspec.Struct, TypedDict or NamedTuple"
)
_PLAIN: dict[Any, kinds.Type] = {
    int: kinds.Int(),
    float: kinds.Float(),
    bool: kinds.Bool(),
    str: kinds.Text(),
    bytes: kinds.Bytes(),
    datetime.datetime: kinds.Timestamp(),
    datetime.date: kinds.Date(),
    datetime.timedelta: kinds.Duration(),
    uuid.UUID: kinds.Uuid(),
}
_MARKER = re.compile(r"(u?int|float|bytes|str|decimal|timestamp|duration|shape)[\d\[(].*")
_SHAPE = re.compile(r"shape\(\d{1,9}(, ?\d{1,9})*,?\)")
_CONSTRAINTS = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length")


def is_structure(thing: Any) -> bool:
    """Return whether the class has fields: a dataclass, msgspec.Struct, TypedDict or NamedTuple."""
    return isinstance(thing, type) and (
        dataclasses.is_dataclass(thing)
        or _is_struct(thing)
        or typing.is_typeddict(thing)
        or _is_named_tuple(thing)
    )


def structure(cls: Any) -> tuple[kinds.Struct, Bound]:
    """Return the type of a class, and how its objects hold the values."""
    return _structure(cls, "", ())


def annotation(hint: Any) -> Pair:
    """Return the type of any annotation, and how objects of it hold the values."""
    kind, bound = _annotation(hint, "", ())
    problem = kinds.Limits().problem(kind, columns=False)
    if problem is not None:
        _refuse(*problem)
    return kind, bound


def _refuse(path: str, why: str) -> NoReturn:
    raise BadArgument(f"field {path}: {why}" if path else why, argument=path or "schema")


def _is_struct(cls: type) -> bool:
    return hasattr(cls, "__struct_fields__")


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "_field_defaults")


def _structure(cls: Any, path: str, outer: tuple[Any, ...]) -> tuple[kinds.Struct, Bound]:
    if cls in outer:
        _refuse(path, f"class {cls.__name__} contains itself, and a schema has no recursive type")
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception as error:  # annotations are code of the program  # noqa: BLE001
        _refuse(path, f"the annotations of class {cls.__name__} cannot be resolved: {error}")
    fields, parts = [], []
    for name, default in _members(cls, path):
        inner = kinds.within(path, name)
        why = kinds.bad_name(name)
        if why:
            _refuse(inner, why)
        if name not in hints:
            _refuse(inner, f"it has no annotation: allowed are {ALLOWED}")
        kind, bound = _annotation(hints[name], inner, (*outer, cls))
        fields.append(kinds.Field(name, kind, _default(kind, bound, default, inner)))
        parts.append(bound)
    if not fields:
        _refuse(path, f"class {cls.__name__} has no field: a structure has at least one")
    native = all(part.native for part in parts) and not _is_named_tuple(cls)
    config = getattr(cls, "__struct_config__", None)
    if config is not None and config.omit_defaults:
        native = False
    attributes = not typing.is_typeddict(cls)
    bound = Bound(
        cls=cls if attributes else None,
        attributes=attributes,
        native=native,
        annotation=cls,
        parts=tuple(parts),
    )
    return kinds.Struct(tuple(fields), cls.__name__), bound


_Default = tuple[Any, Any]  # a value or REQUIRED; a factory or None


def _members(cls: Any, path: str) -> list[tuple[str, _Default]]:
    """Return name and default of each field."""
    if typing.is_typeddict(cls):
        for name in sorted(cls.__optional_keys__):
            _refuse(kinds.within(path, name), "a key cannot be absent (NotRequired): declare it as … | None")
        return [(name, (kinds.REQUIRED, None)) for name in cls.__annotations__]
    if _is_struct(cls):
        return _struct_members(cls, path)
    if dataclasses.is_dataclass(cls):
        found = []
        for each in dataclasses.fields(cls):
            if not each.init:
                _refuse(
                    kinds.within(path, each.name),
                    "it is not an argument of the class (init=False): remove it",
                )
            default = kinds.REQUIRED if each.default is dataclasses.MISSING else each.default
            factory = None if each.default_factory is dataclasses.MISSING else each.default_factory
            found.append((each.name, (default, factory)))
        return found
    return [(name, (cls._field_defaults.get(name, kinds.REQUIRED), None)) for name in cls._fields]


def _struct_members(cls: Any, path: str) -> list[tuple[str, _Default]]:
    import msgspec

    config = cls.__struct_config__
    for name, used in (("array_like", config.array_like), ("tag", config.tag is not None)):
        if used:
            _refuse(path, f"class {cls.__name__} has {name}=, which changes the messages: declare it without")
    found = []
    for each in msgspec.structs.fields(cls):
        if each.encode_name != each.name:
            _refuse(
                kinds.within(path, each.name), "it is renamed, which changes the messages: name the field so"
            )
        default = kinds.REQUIRED if each.default is msgspec.NODEFAULT else each.default
        factory: Any = None if each.default_factory is msgspec.NODEFAULT else each.default_factory
        found.append((each.name, (default, factory)))
    return found


def _default(kind: kinds.Type, bound: Bound, given: _Default, path: str) -> Any:
    value, factory = given
    try:
        if factory is None:
            return kinds.REQUIRED if value is kinds.REQUIRED else to_plain(kind, value, bound=bound)
        first, second = (to_plain(kind, factory(), bound=bound) for _ in range(2))
    except BadArgument as error:
        _refuse(path, f"its default does not fit: {error}")
    if kinds.default_text(first) != kinds.default_text(second):
        _refuse(
            path, "its default_factory returns another value each time: the default is part of the schema"
        )
    return first


def _annotation(hint: Any, path: str, outer: tuple[Any, ...]) -> Pair:
    while hasattr(hint, "__supertype__"):  # typing.NewType
        hint = hint.__supertype__
    if typing.get_origin(hint) is typing.Annotated:
        return _annotated(hint, path, outer)
    if hint in _PLAIN:
        return _PLAIN[hint], Bound(annotation=hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _optional(arguments, path, outer)
    if origin is typing.Literal:
        return _literal(arguments, path)
    if origin in (list, tuple):
        return _sequence(hint, origin, arguments, path, outer)
    if origin is dict:
        if arguments[0] is not str:
            _refuse(path, f"the keys of a dict are str, not {_name(arguments[0])}")
        item, bound = _annotation(arguments[1], f"{path}[]", outer)
        return kinds.Map(item), Bound(annotation=hint, native=bound.native, parts=(bound,))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _enum(hint, path)
    if is_structure(hint):
        return _structure(hint, path, outer)
    scalar = _numpy_scalar(hint)
    if scalar is not None:
        return scalar, Bound(native=False, convert=hint)
    hints = {
        decimal.Decimal: 'a Decimal has a precision and a scale: Annotated[Decimal, "decimal(10, 2)"]',
        list: "a list has a type of its items: list[float]",
        tuple: "a tuple has types of its items: tuple[float, float, float]",
        dict: "a dict has a type of its values: dict[str, float]",
    }
    _refuse(path, hints.get(hint) or f"{_name(hint)} is not a type of a schema: allowed are {ALLOWED}")


def _name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)


def _optional(arguments: tuple[Any, ...], path: str, outer: tuple[Any, ...]) -> Pair:
    chosen = [each for each in arguments if each is not types.NoneType]
    if len(chosen) != 1:
        shown = " | ".join(_name(each) for each in arguments)
        _refuse(path, f"{shown} is not one type: a union is allowed only with None")
    return _nullable(*_annotation(chosen[0], path, outer))


def _nullable(kind: kinds.Type, bound: Bound) -> Pair:
    if isinstance(kind, kinds.Nullable):
        return kind, bound
    return kinds.Nullable(kind), Bound(annotation=bound.annotation, native=bound.native, parts=(bound,))


def _literal(values: tuple[Any, ...], path: str) -> Pair:
    given = [value for value in values if value is not None]
    for value in given:
        if type(value) not in (str, int) or type(value) is not type(given[0]):
            _refuse(path, f"the values of Literal are all str or all int, not {value!r}")
    if not given:
        _refuse(path, "Literal needs a value other than None")
    kind = kinds.Enum(tuple((str(value), value) for value in given))
    pair: Pair = (kind, Bound(annotation=typing.Literal[tuple(given)]))
    return pair if len(given) == len(values) else _nullable(*pair)


def _enum(cls: Any, path: str) -> Pair:
    if issubclass(cls, enum.Flag):
        _refuse(path, f"{cls.__name__} is a Flag, whose values can be combined: declare an int")
    values: list[tuple[str, str | int]] = []
    for member in cls:
        value = member.value
        if type(value) not in (str, int) or (values and type(value) is not type(values[0][1])):
            _refuse(path, f"the values of {cls.__name__} must be all str or all int, not {value!r}")
        values.append((member.name, value))
    if not values:
        _refuse(path, f"{cls.__name__} has no member")
    return kinds.Enum(tuple(values), cls.__name__), Bound(cls=cls, annotation=cls)


def _sequence(hint: Any, origin: type, arguments: tuple[Any, ...], path: str, outer: tuple[Any, ...]) -> Pair:
    variable = origin is list or (len(arguments) == 2 and arguments[1] is Ellipsis)
    if not variable and (not arguments or any(each != arguments[0] for each in arguments)):
        _refuse(path, "the items of a tuple are of one type: declare a structure for items of several")
    item, bound = _annotation(arguments[0], f"{path}[]", outer)
    if variable:
        made = Bound(annotation=hint, native=bound.native, sequence=origin, parts=(bound,))
        return kinds.List(item), made
    return _array(hint, origin, item, bound, (len(arguments),))


def _array(hint: Any, origin: type, item: kinds.Type, bound: Bound, shape: tuple[int, ...]) -> Pair:
    if isinstance(item, kinds.Array):
        shape, item, bound = (*shape, *item.shape), item.item, bound.parts[0]
    made = Bound(annotation=hint, native=bound.native, sequence=origin, parts=(bound,))
    return kinds.Array(item, shape), made


def _annotated(hint: Any, path: str, outer: tuple[Any, ...]) -> Pair:
    base, *notes = typing.get_args(hint)
    chosen: list[kinds.Type] = []
    shape: tuple[int, ...] | None = None
    for note in notes:
        if _has_constraints(note):
            _refuse(path, 'a schema has no constraints; write the size as Annotated[int, "int32"]')
        if isinstance(note, str) and _MARKER.fullmatch(note):
            found = kinds.leaf(note)
            if found is not None:
                chosen.append(found)
            elif _SHAPE.fullmatch(note):
                shape = tuple(int(size) for size in re.findall(r"\d+", note))
            else:
                _refuse(path, f'"{note}" is not a type, such as "int32", "decimal(10, 2)" or "shape(2, 3)"')
        else:
            scalar = _numpy_scalar(note)
            chosen += [scalar] if scalar is not None else []
    if shape is not None:
        return _shaped(hint, base, shape, path, outer)
    if not chosen:
        kind, bound = _annotation(base, path, outer)
        return kind, dataclasses.replace(bound, annotation=hint)
    kind, wanted = chosen[0], _base(chosen[0])
    if len(chosen) > 1 or base is not wanted:
        _refuse(path, f'"{kind}" belongs to Annotated[{wanted.__name__}, "{kind}"], alone')
    return kind, Bound(annotation=hint)


def _base(kind: kinds.Type) -> Any:
    if isinstance(kind, kinds.Timestamp):
        return datetime.datetime if kind.unit == "us" else int
    if isinstance(kind, kinds.Duration):
        return datetime.timedelta if kind.unit == "us" else int
    return PYTHON_CLASSES[type(kind)]


def _shaped(hint: Any, base: Any, shape: tuple[int, ...], path: str, outer: tuple[Any, ...]) -> Pair:
    """Return Annotated[list[list[float]], "shape(2, 3)"]: as many lists as dimensions."""
    inner = base
    origin = typing.get_origin(base)
    for _ in shape:
        kind = typing.get_origin(inner)
        arguments = typing.get_args(inner)
        if kind not in (list, tuple) or (kind is tuple and arguments[1:] != (Ellipsis,)):
            example = "list[" * len(shape) + "float" + "]" * len(shape)
            _refuse(
                path, f'shape{shape} belongs to Annotated[{example}, "shape({", ".join(map(str, shape))})"]'
            )
        inner = arguments[0]
    item, bound = _annotation(inner, f"{path}[]", outer)
    return _array(hint, origin or list, item, bound, shape)


def _has_constraints(note: Any) -> bool:
    msgspec: Any = sys.modules.get("msgspec")
    if msgspec is None or not isinstance(note, msgspec.Meta):
        return False
    return any(getattr(note, name) is not None for name in _CONSTRAINTS) or note.tz is False


def _numpy_scalar(hint: Any) -> kinds.Type | None:
    """Return the type of numpy.int32, numpy.float64, numpy.bool."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not isinstance(hint, type) or not issubclass(hint, numpy.generic):
        return None
    try:
        return kinds.leaf(numpy.dtype(hint).name)
    except TypeError:  # an abstract type, such as numpy.floating
        return None
