# SPDX-License-Identifier: Apache-2.0
"""A class, dtype, Arrow schema, message class or .bfbs as a Schema, with its encoding."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from slipring.errors import BadArgument

from .field_types import Struct
from .topic_schema import Schema

_CLASS_ENCODINGS = ("msgpack", "json")


class _Named(Protocol):
    """A numpy dtype, or a pyarrow.Schema."""

    @property
    def names(self) -> Any: ...


# What declares a message and is not a class, for type checkers: a dtype, a list for one, a pyarrow.Schema, the bytes
# or the path of a .bfbs, or a Schema.
Declaration = _Named | list[Any] | str | bytes | os.PathLike[str] | Schema
WAYS = (
    "a dataclass, msgspec.Struct, TypedDict or NamedTuple, a numpy dtype, a pyarrow.Schema, a Protobuf message class, "
    "or the bytes or the path of a FlatBuffers .bfbs"
)


def declare(thing: Any, encoding: str | None = None, *, name: str | None = None) -> Schema:
    """Return the schema of a class, numpy dtype, pyarrow.Schema, Protobuf message class, or FlatBuffers .bfbs.

    encoding: "msgpack" (default) or "json" for classes; the others have one encoding each.
    name: of the schema, by default that of the class; "Record" for dtypes and Arrow schemas.
    A Schema is returned as it is, unless another encoding is asked for.
    """
    make, allowed = _way(thing)
    if encoding is not None and encoding not in allowed:
        text = f"encoding={encoding!r} is not possible for {_shown(thing)}: allowed is {' or '.join(allowed)}"
        raise BadArgument(text, argument="encoding")
    return make(thing, encoding or allowed[0], name)


def _shown(thing: Any) -> str:
    return f"class {thing.__name__}" if isinstance(thing, type) else f"a {type(thing).__name__}"


_Way = tuple[Callable[[Any, str, str | None], Schema], tuple[str, ...]]


def _way(thing: Any) -> _Way:
    from . import annotations

    if isinstance(thing, Schema):
        return (lambda schema, encoding, name: schema), (thing.encoding,)
    if annotations.is_structure(thing):
        return _class, _CLASS_ENCODINGS
    if isinstance(thing, type) and hasattr(thing, "DESCRIPTOR"):
        return _message, ("protobuf",)
    if isinstance(thing, (bytes, bytearray, memoryview, os.PathLike)) or _is_path(thing):
        return _bfbs, ("flatbuffers",)
    pyarrow: Any = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(thing, pyarrow.Schema):
        return _arrow, ("arrow",)
    numpy: Any = sys.modules.get("numpy")
    is_scalar = numpy is not None and isinstance(thing, type) and issubclass(thing, numpy.generic)
    if isinstance(thing, (list, str)) or is_scalar or (numpy is not None and isinstance(thing, numpy.dtype)):
        return _dtype, ("numpy",)
    raise BadArgument(
        f"schema={thing!r:.60} does not declare a message: it must be {WAYS}", argument="schema"
    )


def _is_path(thing: Any) -> bool:
    return isinstance(thing, str) and thing.endswith(".bfbs")


def _class(cls: Any, encoding: str, name: str | None) -> Schema:
    from . import annotations

    root, bound = annotations.structure(cls)
    if name is not None:
        root = Struct(root.fields, name)
    return Schema(root.name, encoding, root, declared=cls, bound=bound)


def _dtype(thing: Any, encoding: str, name: str | None) -> Schema:
    from . import packages
    from .encodings import numpy_layout

    try:
        dtype = packages.numpy().dtype(thing)
    except (TypeError, ValueError) as error:
        raise BadArgument(f"schema={thing!r:.60} is not a numpy dtype: {error}", argument="schema") from None
    root, layout = numpy_layout.from_dtype(dtype)
    return Schema(name or "Record", encoding, root, {"layout": layout}, declared=dtype)


def _arrow(schema: Any, encoding: str, name: str | None) -> Schema:
    from .encodings import arrow_types

    root = arrow_types.from_arrow(schema)
    return Schema(name or "Record", encoding, root, {"arrow": arrow_types.to_ipc(schema)}, declared=schema)


def _message(cls: Any, encoding: str, name: str | None) -> Schema:
    from .encodings import protobuf_types

    descriptor = cls.DESCRIPTOR
    root = protobuf_types.from_descriptor(descriptor)
    extra = {"descriptors": protobuf_types.to_bytes(descriptor), "message": descriptor.full_name}
    return Schema(name or descriptor.name, encoding, root, extra, declared=cls)


def _bfbs(thing: Any, encoding: str, name: str | None) -> Schema:
    from .encodings import flatbuffers_types

    if isinstance(thing, (str, os.PathLike)):
        try:
            data = Path(thing).read_bytes()
        except OSError as error:
            raise BadArgument(f"schema={str(thing)!r}: {error.strerror}", argument="schema") from None
    else:
        data = bytes(thing)
    root, table = flatbuffers_types.from_bfbs(data)
    return Schema(name or table, encoding, root, {"bfbs": data}, declared=None)
