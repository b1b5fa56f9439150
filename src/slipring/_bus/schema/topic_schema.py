# SPDX-License-Identifier: Apache-2.0
"""A schema: a name, an encoding, the type of a message, and what else the encoding needs, as bytes and back."""

from __future__ import annotations

import base64
import binascii
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument

from . import field_types as kinds
from . import schema_document as document
from .bound_classes import Bound

if TYPE_CHECKING:
    from .encodings.record_columns import RecordColumns

# What a document of each encoding has besides name, type and version. Texts in base64 are bytes in `Schema.extra`.
EXTRAS: dict[str, dict[str, type]] = {
    "msgpack": {},
    "json": {},
    "numpy": {"layout": list},
    "arrow": {"arrow": bytes},
    "protobuf": {"descriptors": bytes, "message": str},
    "flatbuffers": {"bfbs": bytes},
}


class Schema:
    """The schema of a topic. Equal schemas have equal bytes; a Schema is never changed.

    name, encoding, root: what was declared. fields: the columns, (name, type). extra: what the encoding needs as well.
    declared: the class, dtype or Arrow schema it was made from in this process, or None; not part of the schema.
    """

    def __init__(
        self,
        name: str,
        encoding: str,
        root: kinds.Type,
        extra: dict[str, Any] | None = None,
        *,
        declared: Any = None,
        bound: Bound | None = None,
    ) -> None:
        if encoding not in document.ENCODINGS:
            allowed = ", ".join(document.ENCODINGS)
            raise BadArgument(f"encoding={encoding!r} is not one of {allowed}", argument="encoding")
        if not kinds.IDENTIFIER.fullmatch(name) or len(name) > kinds.MOST_NAME:
            text = f"name={name!r} must have 1 to {kinds.MOST_NAME} ASCII letters, digits and underscores"
            raise BadArgument(text, argument="name")
        problem = kinds.Limits().problem(root)
        if problem is not None:
            field = problem[0] or name
            raise BadArgument(f"field {field}: {problem[1]}", argument=field)
        self.name, self.encoding, self.root, self.extra = name, encoding, root, extra or {}
        self.declared, self.bound = declared, bound
        if len(self.to_bytes()) > document.MOST_BYTES:
            text = f"the schema has {len(self.to_bytes())} bytes, at most {document.MOST_BYTES} are allowed"
            raise BadArgument(text, argument="schema")

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Schema:
        """Return the schema that `to_bytes` wrote; Corrupt names what is wrong with any other bytes.

        What the encoding's own library has to read (`extra`) is checked against the type when a codec is made.
        """
        data = bytes(data)
        found = document.load(data)
        if found.get("version") != document.VERSION:
            raise document.corrupt(
                f"version {found.get('version')!s:.20} is unknown, {document.VERSION} is known"
            )
        encoding, name = found.get("encoding"), found.get("name")
        if not isinstance(encoding, str) or encoding not in EXTRAS:
            raise document.corrupt(f"encoding {encoding!s:.60} is unknown")
        root = document.type_from_json(found.get("type"))
        if encoding != "numpy" and not isinstance(root, kinds.Struct):
            raise document.corrupt(f"a message of encoding {encoding} is a structure, not {root}")
        try:
            schema = cls(name if isinstance(name, str) else "", encoding, root, _extra(encoding, root, found))
        except BadArgument as error:
            raise document.corrupt(str(error)) from None
        # defect form_of_a_document_unchecked: pass
        document.check_canonical(schema._document(), data)
        return schema

    def _document(self) -> dict[str, Any]:
        extra = {
            key: base64.b64encode(value).decode() if isinstance(value, bytes) else value
            for key, value in self.extra.items()
        }
        kind = document.type_to_json(self.root)
        return {
            "encoding": self.encoding,
            "name": self.name,
            "type": kind,
            "version": document.VERSION,
            **extra,
        }

    @cached_property
    def _bytes(self) -> bytes:
        try:
            return document.dump(self._document())
        except ValueError as error:
            raise BadArgument(f"the schema has text that is not UTF-8: {error}", argument="schema") from None

    def to_bytes(self) -> bytes:
        """Return the canonical bytes."""
        return self._bytes

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the canonical bytes, in hexadecimal."""
        import hashlib

        return hashlib.sha256(self._bytes).hexdigest()

    @property
    def fields(self) -> tuple[tuple[str, kinds.Type], ...]:
        """Name and type of each column; a root without fields is the column `value`."""
        if isinstance(self.root, kinds.Struct):
            return tuple((each.name, each.type) for each in self.root.fields)
        return (("value", self.root),)

    @property
    def defaults(self) -> dict[str, Any]:
        """The plain value of each column that has a default."""
        if not isinstance(self.root, kinds.Struct):
            return {}
        return {each.name: each.default for each in self.root.fields if each.default is not kinds.REQUIRED}

    @cached_property
    def arrow(self) -> Any:
        """The columns of decoded messages, a pyarrow.Schema."""
        from .encodings import arrow_types

        return arrow_types.columns_of(self)

    @cached_property
    def records(self) -> RecordColumns:
        """Bodies as columns and back, of encoding numpy."""
        from .encodings import record_columns

        return record_columns.RecordColumns(self)

    @cached_property
    def ddl(self) -> str:
        """The columns as Spark DDL: "t DOUBLE, acc ARRAY<DOUBLE>"."""
        from . import descriptions

        return descriptions.ddl(self)

    @cached_property
    def json_schema(self) -> dict[str, Any]:
        """A message as JSON Schema, draft 2020-12."""
        from . import descriptions

        return descriptions.json_schema(self)

    @cached_property
    def python(self) -> str:
        """Source text that declares the structure: a dataclass, or a numpy dtype."""
        from . import python_source

        return python_source.source(self)

    def __eq__(self, other: object) -> bool:
        return self._bytes == other._bytes if isinstance(other, Schema) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __repr__(self) -> str:
        return f"<Schema {self.name}, {self.encoding}, {self.hash[:12]}: {self.ddl}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema.from_bytes, (self._bytes,)


def _extra(encoding: str, root: kinds.Type, found: dict[str, Any]) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    for key, kind in EXTRAS[encoding].items():
        value: Any = found.get(key)
        wanted: Any = str if kind is bytes else kind
        if type(value) is not wanted:
            raise document.corrupt(f"encoding {encoding} needs {key!r}")
        try:
            extra[key] = base64.b64decode(value, validate=True) if kind is bytes else value
        except (binascii.Error, ValueError):
            raise document.corrupt(f"{key!r} is not base64") from None
    if encoding == "numpy":
        from .encodings import numpy_layout

        numpy_layout.check_offsets(root, extra["layout"])
    return extra
