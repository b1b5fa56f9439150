# SPDX-License-Identifier: Apache-2.0
"""A schema as Python source: dataclasses, or the dtype of a fixed layout.

`declare` of the result gives an equal schema for the encodings msgpack, json and numpy. For arrow, protobuf and
flatbuffers it gives a class of the same structure, with which a subscriber reads the topic.
"""

from __future__ import annotations

import datetime
import decimal
import keyword
import math
import re
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import field_types as kinds

if TYPE_CHECKING:
    from .topic_schema import Schema

# Module, and name in it or in the builtins.
_PLAIN: dict[kinds.Type, tuple[str, str]] = {
    kinds.Int(): ("", "int"),
    kinds.Float(): ("", "float"),
    kinds.Bool(): ("", "bool"),
    kinds.Text(): ("", "str"),
    kinds.Bytes(): ("", "bytes"),
    kinds.Timestamp(): ("datetime", "datetime"),
    kinds.Date(): ("datetime", "date"),
    kinds.Duration(): ("datetime", "timedelta"),
    kinds.Uuid(): ("uuid", "UUID"),
}
_BASES: dict[type[kinds.Type], tuple[str, str]] = {
    kinds.Int: ("", "int"),
    kinds.Float: ("", "float"),
    kinds.Text: ("", "str"),
    kinds.Bytes: ("", "bytes"),
    kinds.Timestamp: ("", "int"),
    kinds.Duration: ("", "int"),
    kinds.Decimal: ("decimal", "Decimal"),
}
_LONGEST_TUPLE = 8
_TAKEN = {
    "int",
    "float",
    "bool",
    "str",
    "bytes",
    "list",
    "dict",
    "tuple",
    "datetime",
    "decimal",
    "enum",
    "uuid",
    "dataclass",
    "field",
    "Annotated",
    "Literal",
}


def source(schema: Schema) -> str:
    if schema.encoding == "numpy":
        return _dtype(schema)
    return _Source(schema).text()


def _dtype(schema: Schema) -> str:
    from .encodings import numpy_layout

    dtype = numpy_layout.to_dtype(schema)
    name = schema.name if _is_name(schema.name) else f"{schema.name}_"
    return f"import numpy\n\n{name} = numpy.dtype({_described(dtype)})\n"


def _described(dtype: Any) -> str:
    """Return the argument of numpy.dtype as Python source."""
    if dtype.subdtype is not None:
        return f"({_described(dtype.base)}, {dtype.shape})"
    if dtype.names is None:
        return repr(dtype.str if dtype.kind != "V" else f"V{dtype.itemsize}")
    formats = ", ".join(_described(dtype.fields[name][0]) for name in dtype.names)
    offsets = [dtype.fields[name][1] for name in dtype.names]
    names = list(dtype.names)
    return f"{{'names': {names}, 'formats': [{formats}], 'offsets': {offsets}, 'itemsize': {dtype.itemsize}}}"


class _Source:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._imports: set[tuple[str, str]] = set()
        self._aliases: list[str] = []
        self._blocks: list[str] = []
        self._names: dict[kinds.Type, str] = {}
        self._fields = set(_field_names(schema.root))

    def text(self) -> str:
        root = self._schema.root
        assert isinstance(root, kinds.Struct)
        self._structure(root, self._schema.name)
        head = sorted({f"import {module}" for module, name in self._imports if not name})
        for source in ("dataclasses", "typing"):
            names = sorted(name for module, name in self._imports if module == source)
            head += [f"from {source} import {', '.join(names)}"] if names else []
        head += ["", *self._aliases] if self._aliases else []
        return "\n".join(head) + "\n\n\n" + "\n\n".join(self._blocks)

    def _use(self, module: str, name: str) -> str:
        """Return how the source names something of a module; a field of this name would hide it in its class."""
        if module:
            self._imports.add((module, name if module in ("typing", "dataclasses") else ""))
        first = module if module not in ("", "typing", "dataclasses") else name
        alias = first
        while alias in self._fields:
            alias += "_"
        if alias != first and f"{alias} = {first}" not in self._aliases:
            self._aliases.append(f"{alias} = {first}")
        return f"{alias}.{name}" if first == module else alias

    def _new_name(self, wanted: str, path: str) -> str:
        # Names in a document are any text: what is not a name is not written.
        names = (each for each in (wanted, path.title()) if _is_name(each))
        name = next(names, "Structure")
        while name in self._fields or name in {*self._names.values(), *_TAKEN}:
            name += "_"
        return name

    def _structure(self, kind: kinds.Struct, wanted: str) -> str:
        found = self._names.get(kind)
        if found is not None and found == wanted:
            return found
        lines = [self._field(each) for each in kind.fields]
        name = self._new_name(wanted, wanted)
        self._names[kind] = name
        # A field without default after one with a default is possible in the types, and for keyword arguments alone.
        late = False
        seen = False
        for each in kind.fields:
            late |= seen and each.default is kinds.REQUIRED
            seen |= each.default is not kinds.REQUIRED
        decorator = f"@{self._use('dataclasses', 'dataclass')}{'(kw_only=True)' if late else ''}"
        self._blocks.append(f"{decorator}\nclass {name}:\n" + "".join(f"    {line}\n" for line in lines))
        return name

    def _field(self, each: kinds.Field) -> str:
        annotation = self._annotation(each.type, each.name)
        if each.default is kinds.REQUIRED:
            return f"{each.name}: {annotation}"
        value = self._value(each.type, each.default)
        if (
            isinstance(_inner(each.type), (kinds.List, kinds.Map, kinds.Struct, kinds.Array))
            and each.default is not None
        ):
            make = self._use("dataclasses", "field")
            return f"{each.name}: {annotation} = {make}(default_factory=lambda: {value})"
        return f"{each.name}: {annotation} = {value}"

    def _annotation(self, kind: kinds.Type, path: str) -> str:
        if kind in _PLAIN:
            module, name = _PLAIN[kind]
            return self._use(module, name)
        match kind:
            case kinds.Nullable(item=item):
                return f"{self._annotation(item, path)} | None"
            case kinds.List(item=item):
                return f"{self._use('', 'list')}[{self._annotation(item, path)}]"
            case kinds.Map(item=item):
                return f"{self._use('', 'dict')}[{self._use('', 'str')}, {self._annotation(item, path)}]"
            case kinds.Array(item=item, shape=(size,)) if size <= _LONGEST_TUPLE:
                return f"{self._use('', 'tuple')}[{', '.join([self._annotation(item, path)] * size)}]"
            case kinds.Array(item=item, shape=shape):
                inner = (
                    f"{self._use('', 'list')}[" * len(shape) + self._annotation(item, path) + "]" * len(shape)
                )
                return f'{self._use("typing", "Annotated")}[{inner}, "shape({", ".join(map(str, shape))})"]'
            case kinds.Enum():
                return self._enum(kind, path)
            case kinds.Struct(name=name):
                return self._structure(kind, name or path)
        return f'{self._use("typing", "Annotated")}[{self._use(*_BASES[type(kind)])}, "{kind}"]'

    def _enum(self, kind: kinds.Enum, path: str) -> str:
        if not kind.name:
            return f"{self._use('typing', 'Literal')}[{', '.join(repr(value) for _, value in kind.values)}]"
        if self._names.get(kind) == kind.name:
            return kind.name
        base = self._use("enum", "Enum")
        name = self._new_name(kind.name, path)
        self._names[kind] = name
        members = repr(list(kind.values))
        if all(_is_name(each) for each, _ in kind.values):
            body = "".join(f"    {each} = {value!r}\n" for each, value in kind.values)
            self._blocks.append(f"class {name}({base}):\n{body}")
        else:
            self._blocks.append(f"{name} = {base}({name!r}, {members})\n")
        return name

    def _value(self, kind: kinds.Type, value: Any) -> str:
        """Return a plain value as Python source."""
        match kind:
            case _ if value is None:
                return "None"
            case kinds.Nullable(item=item):
                return self._value(item, value)
            case kinds.Float():
                return repr(value) if math.isfinite(value) else f'{self._use("", "float")}("{value}")'
            case kinds.Enum() if kind in self._names:
                return f"{self._names[kind]}({value!r})"
            case kinds.List(item=item):
                return f"[{', '.join(self._value(item, each) for each in value)}]"
            case kinds.Array(row=inner):
                return f"[{', '.join(self._value(inner, each) for each in value)}]"
            case kinds.Map(item=item):
                return (
                    f"{{{', '.join(f'{key!r}: {self._value(item, each)}' for key, each in value.items())}}}"
                )
            case kinds.Struct(fields=fields):
                given = ", ".join(
                    f"{each.name}={self._value(each.type, value[each.name])}" for each in fields
                )
                return f"{self._names[kind]}({given})"
        return self._constant(value)

    def _constant(self, value: Any) -> str:
        if isinstance(value, decimal.Decimal):
            return f'{self._use("decimal", "Decimal")}("{value}")'
        if isinstance(value, uuid.UUID):
            return f'{self._use("uuid", "UUID")}("{value}")'
        if isinstance(value, (datetime.date, datetime.timedelta)):
            module = self._use("datetime", "").rstrip(".")
            return re.sub(r"(?<!\.)\bdatetime\.", f"{module}.", repr(value))
        return repr(value)


def _field_names(kind: kinds.Type) -> Iterator[str]:
    if isinstance(kind, kinds.Struct):
        yield from (each.name for each in kind.fields)
    for part in kind.parts():
        yield from _field_names(part)


def _is_name(text: str) -> bool:
    return bool(kinds.IDENTIFIER.fullmatch(text)) and not keyword.iskeyword(text)


def _inner(kind: kinds.Type) -> kinds.Type:
    return kind.item if isinstance(kind, kinds.Nullable) else kind
