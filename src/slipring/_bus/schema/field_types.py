# SPDX-License-Identifier: Apache-2.0
"""The types of fields. Each is a value: two types are equal when a message of one is a message of the other.

`str(type)` is the text in errors and in annotations: "int32", "list[float64]", "bytes[16]". Names of structures and
enums are documentation and do not count for equality. docs/spec/schema.md lists what each type carries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

MOST_DEPTH: Final = 32  # types inside types
MOST_FIELDS: Final = 4096  # fields of all structures and values of all enums together
MOST_DIMENSIONS: Final = 8
MOST_ELEMENTS: Final = 1 << 24  # of a fixed array; also bytes or characters of a limited text
MOST_NAME: Final = 255
MOST_PRECISION: Final = 38  # decimal digits in 128 bits
OWN_COLUMNS: Final = ("topic", "offset", "timestamp", "timestamp_ns", "sender", "type", "generation", "value")
IDENTIFIER = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]*")
UNITS: Final = ("us", "ns")


def default_text(value: Any) -> str:
    """Return a text that is the same for equal defaults: NaN equals NaN, and the order of keys does not count."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {default_text(value[key])}' for key in sorted(value))}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(default_text, value))}]"
    return repr(value)


class Missing:
    """The default of a field without one."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = Missing()


class Type:
    """The base class of all types."""

    __slots__ = ()

    def parts(self) -> Iterator[Type]:
        """Return the types directly inside."""
        return iter(())


@dataclass(frozen=True, slots=True)
class Int(Type):
    bits: int = 64
    signed: bool = True

    @property
    def lowest(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def highest(self) -> int:
        return (1 << (self.bits - 1 if self.signed else self.bits)) - 1

    def __str__(self) -> str:
        return f"{'' if self.signed else 'u'}int{self.bits}"


@dataclass(frozen=True, slots=True)
class Float(Type):
    bits: int = 64

    @property
    def highest(self) -> float:
        """The largest finite value that is not rounded to infinity."""
        return {16: 65519.99999999999, 32: 3.4028235677973362e38, 64: math.inf}[self.bits]

    def __str__(self) -> str:
        return f"float{self.bits}"


@dataclass(frozen=True, slots=True)
class Bool(Type):
    def __str__(self) -> str:
        return "bool"


@dataclass(frozen=True, slots=True)
class Text(Type):
    """Unicode text; most: the largest number of characters, for fixed layouts."""

    most: int | None = None

    def __str__(self) -> str:
        return "str" if self.most is None else f"str[<={self.most}]"


@dataclass(frozen=True, slots=True)
class Bytes(Type):
    """Bytes; size: exactly so many; most: at most so many, and zeros at the end do not count (numpy's "S")."""

    size: int | None = None
    most: int | None = None

    def __str__(self) -> str:
        if self.size is not None:
            return f"bytes[{self.size}]"
        return "bytes" if self.most is None else f"bytes[<={self.most}]"


@dataclass(frozen=True, slots=True)
class Timestamp(Type):
    """A moment in UTC. In Python an aware datetime ("us"), or the number of nanoseconds since 1970 ("ns")."""

    unit: str = "us"

    def __str__(self) -> str:
        return f"timestamp[{self.unit}]"


@dataclass(frozen=True, slots=True)
class Date(Type):
    def __str__(self) -> str:
        return "date"


@dataclass(frozen=True, slots=True)
class Duration(Type):
    """In Python a timedelta ("us"), or a number of nanoseconds ("ns")."""

    unit: str = "us"

    def __str__(self) -> str:
        return f"duration[{self.unit}]"


@dataclass(frozen=True, slots=True)
class Uuid(Type):
    def __str__(self) -> str:
        return "uuid"


@dataclass(frozen=True, slots=True)
class Decimal(Type):
    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class Enum(Type):
    """Named values, all of them str or all of them int."""

    values: tuple[tuple[str, str | int], ...]
    name: str = field(default="", compare=False)

    @property
    def kind(self) -> type:
        return type(self.values[0][1])

    def __str__(self) -> str:
        shown = [
            repr(value) if name == str(value) else f"{name}={value!r}" for name, value in self.values[:8]
        ]
        return f"enum[{', '.join(shown)}{', …' if len(self.values) > 8 else ''}]"


@dataclass(frozen=True, slots=True)
class Holder(Type):
    """The base class of types with one type inside."""

    item: Type

    def parts(self) -> Iterator[Type]:
        yield self.item


@dataclass(frozen=True, slots=True)
class Nullable(Holder):
    def __str__(self) -> str:
        return f"{self.item} | None"


@dataclass(frozen=True, slots=True)
class List(Holder):
    def __str__(self) -> str:
        return f"list[{self.item}]"


@dataclass(frozen=True, slots=True)
class Array(Holder):
    """A fixed number of items: nested lists of the given shape. The item is not an Array itself."""

    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"array[{self.item}, {'x'.join(map(str, self.shape))}]"

    @property
    def row(self) -> Type:
        """The type of the items of the outer list."""
        return self.item if len(self.shape) == 1 else Array(self.item, self.shape[1:])


@dataclass(frozen=True, slots=True)
class Map(Holder):
    """Keys are str."""

    def __str__(self) -> str:
        return f"dict[str, {self.item}]"


@dataclass(frozen=True, slots=True)
class Field:
    """default: a plain value (plain_values.py), or REQUIRED. It is a list or a dict at most: never change it."""

    name: str
    type: Type
    default: Any = REQUIRED

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Field):
            return NotImplemented
        if (self.name, self.type) != (other.name, other.type):
            return False
        return default_text(self.default) == default_text(other.default)

    def __hash__(self) -> int:
        return hash((self.name, self.type))

    def __str__(self) -> str:
        return str(self.type) if self.default is REQUIRED else f"{self.type} = {self.default!r}"


@dataclass(frozen=True, slots=True)
class Struct(Type):
    fields: tuple[Field, ...]
    name: str = field(default="", compare=False)

    def parts(self) -> Iterator[Type]:
        for inner in self.fields:
            yield inner.type

    def __str__(self) -> str:
        return f"structure {self.name}".rstrip()


SIMPLE: dict[str, Type] = {
    str(each): each
    for each in (
        *(Int(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)),
        *(Float(bits) for bits in (16, 32, 64)),
        *(Timestamp(unit) for unit in UNITS),
        *(Duration(unit) for unit in UNITS),
        Bool(), Text(), Bytes(), Date(), Uuid(),
    )
}  # fmt: skip
_SIZED = re.compile(r"(?P<kind>bytes|str)\[(?P<most><=)?(?P<size>\d{1,9})\]")
_DECIMAL = re.compile(r"decimal\((?P<precision>\d{1,3}), ?(?P<scale>\d{1,3})\)")


def leaf(text: str) -> Type | None:
    """Return the type without parts that has this text, or None."""
    if text in SIMPLE:
        return SIMPLE[text]
    sized = _SIZED.fullmatch(text)
    if sized and sized["kind"] == "str":
        return Text(int(sized["size"])) if sized["most"] else None
    if sized:
        size = int(sized["size"])
        return Bytes(most=size) if sized["most"] else Bytes(size)
    decimal = _DECIMAL.fullmatch(text)
    return Decimal(int(decimal["precision"]), int(decimal["scale"])) if decimal else None


def within(path: str, name: str) -> str:
    """Return the path of a field inside the structure at `path`."""
    return f"{path}.{name}" if path else name


class Limits:
    """Reports what a type breaks of the rules that hold for all schemas, or None. One object for one schema."""

    def __init__(self) -> None:
        self._left = MOST_FIELDS

    def problem(self, root: Type, *, columns: bool = True) -> tuple[str, str] | None:
        """Return the path of the first field that is not allowed, and why. columns: the fields become columns beside
        those of the message."""
        for path, kind, depth in walk(root):
            name, why = self._of_one(kind, depth)
            if why:
                return within(path, name) if name else path, why
        if columns and isinstance(root, Struct):
            for inner in root.fields:
                if inner.name.lower() in OWN_COLUMNS:
                    return inner.name, (
                        "each message has a column of this name already: choose another name than "
                        f"{', '.join(OWN_COLUMNS)}"
                    )
        return None

    def _of_one(self, kind: Type, depth: int) -> tuple[str, str]:
        """Return the name of a field of the type, or "", and what is wrong with it, or ""."""
        why = ""
        if depth > MOST_DEPTH:
            return "", f"types are nested deeper than {MOST_DEPTH}"
        match kind:
            case Struct(fields=fields):
                return self._names([each.name for each in fields])
            case Enum(values=values):
                why = self._enum(values)
            case Array(item=item, shape=shape):
                if isinstance(item, Array):
                    why = "an array of arrays is one array with more dimensions"
                elif not 1 <= len(shape) <= MOST_DIMENSIONS or min(shape) < 1:
                    why = (
                        f"a fixed array has 1 to {MOST_DIMENSIONS} dimensions of 1 or more, not {list(shape)}"
                    )
                elif math.prod(shape) > MOST_ELEMENTS:
                    why = f"a fixed array has at most {MOST_ELEMENTS} items, not {math.prod(shape)}"
            case Nullable(item=Nullable()):
                why = "a value inside two None types is not distinguishable from one"
            case Text(most=size) | Bytes(size=None, most=size) | Bytes(size=size):
                if size is not None and not 1 <= size <= MOST_ELEMENTS:
                    why = f"the size must be 1 to {MOST_ELEMENTS}, not {size}"
            case Decimal(precision=precision, scale=scale):
                if not (1 <= precision <= MOST_PRECISION and 0 <= scale <= precision):
                    why = f"precision must be 1 to {MOST_PRECISION} and scale ≤ precision, not {kind}"
        return "", why

    def _names(self, names: list[str]) -> tuple[str, str]:
        if self._left < len(names):
            return "", f"the schema has more than {MOST_FIELDS} fields and enum values"
        self._left -= len(names)
        if not names:
            return "", "a structure has at least one field"
        known: set[str] = set()
        for name in names:
            why = bad_name(name)
            if name.lower() in known:
                why = "the name is there twice; upper and lower case are the same to Spark"
            if why:
                return name, why
            known.add(name.lower())
        return "", ""

    def _enum(self, values: tuple[tuple[str, str | int], ...]) -> str:
        if self._left < len(values):
            return f"the schema has more than {MOST_FIELDS} fields and enum values"
        self._left -= len(values)
        if not values:
            return "an enum has at least one value"
        numbers = [value for _, value in values if type(value) is int]
        if len(numbers) < len(values) and not all(type(value) is str for _, value in values):
            return "the values of an enum must be all str or all int"
        if not all(-(1 << 63) <= number < 1 << 63 for number in numbers):
            return "the values of an enum must fit int64"
        if len({name for name, _ in values}) < len(values) or len({value for _, value in values}) < len(
            values
        ):
            return "an enum has a name or a value twice"
        return ""


def bad_name(name: str) -> str:
    """Return why this is not the name of a field, or nothing."""
    import keyword

    if not IDENTIFIER.fullmatch(name) or keyword.iskeyword(name) or len(name) > MOST_NAME:
        return (
            f"a name has 1 to {MOST_NAME} ASCII letters, digits and underscores, begins with no digit and not with two "
            "underscores, and is not a keyword of Python"
        )
    return ""


def walk(root: Type) -> Iterator[tuple[str, Type, int]]:
    """Return path, type and depth of each type in a tree, outer ones first."""
    waiting: list[tuple[str, Type, int]] = [("", root, 0)]
    while waiting:
        path, kind, depth = waiting.pop()
        yield path, kind, depth
        if depth > MOST_DEPTH:
            continue
        match kind:
            case Struct(fields=fields):
                inner = [(within(path, each.name), each.type, depth + 1) for each in fields]
            case List() | Array() | Map():
                inner = [(f"{path}[]", part, depth + 1) for part in kind.parts()]
            case _:
                inner = [(path, part, depth + 1) for part in kind.parts()]
        waiting += reversed(inner)
