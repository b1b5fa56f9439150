# SPDX-License-Identifier: Apache-2.0
"""Checks of what the files of a lake say. A recording may come from anybody, with correct check sums.

Structures are decoded strictly by msgspec: every field has its type, and numbers fit into 64 bits. A path has to lie
inside the lake, where this package puts it. Anything else raises a ValueError, which names the field and the value.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, TypeVar

from ..errors import MissingExtra

try:
    import msgspec
    from msgspec import Meta
    from msgspec import Struct as Struct
    from msgspec import field as field
except ImportError as missing:
    raise MissingExtra('lakes need the package msgspec: pip install "slipring[spark]"') from missing

NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
MOST = (1 << 63) - 1

TopicName = Annotated[str, Meta(pattern=rf"\A{NAME}\Z")]
Generation = Annotated[str, Meta(pattern=r"\A[0-9a-f]{16}\Z")]
SchemaHash = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Number = Annotated[int, Meta(ge=0, le=MOST)]
TimeNs = Annotated[int, Meta(ge=-MOST - 1, le=MOST)]
BatchNumber = Annotated[int, Meta(ge=-1, le=MOST)]  # -1: before any batch

_PARTITION = rf"topic={NAME}/date=\d{{4}}-\d\d-\d\d/[\w.-]+\.parquet"
_STORED = re.compile(rf"messages/{_PARTITION}", re.ASCII)
_STAGED = re.compile(rf"_staging/[\w-]+/{_PARTITION}", re.ASCII)
_AT = re.compile(r"at `\$([^`]*)`$")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_LONGEST = 80  # characters of a value in an error

T = TypeVar("T")


def parsed(data: bytes) -> Any:
    """Parse JSON; ValueError if it is nested too deeply."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def checked(value: Any, kind: type[T]) -> T:
    """Return parsed JSON as `kind`; ValueError if it is not one."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{error}{_found(str(error), value)}") from None


def decoded(data: bytes, kind: type[T]) -> T:
    """Return JSON text as `kind`; ValueError if it is not one."""
    return checked(parsed(data), kind)


def plain(value: Any) -> dict[str, Any]:
    """Return a structure as JSON objects."""
    found: dict[str, Any] = msgspec.to_builtins(value)
    return found


def _found(error: str, value: Any) -> str:
    """The value that the error of msgspec is about, if it is a single one."""
    at = _AT.search(error)
    if at is None or "[...]" in at[1]:
        return ""
    for name, index in _STEP.findall(at[1]):
        try:
            value = value[name or int(index)]
        except (KeyError, IndexError, TypeError):
            return ""
    return "" if isinstance(value, (dict, list)) else f", found {value!r:.{_LONGEST}}"


def check_stored(path: str, topic: str | None = None, date: str | None = None) -> None:
    """ValueError unless this is the path of a file of the recording, of that topic and date."""
    # defect lake_replaced_path_unchecked: if False:
    if not _STORED.fullmatch(path):
        raise ValueError(f"a file outside of messages/: {path!r}")
    # defect lake_file_path_unchecked: if False:
    if topic is not None and not path.startswith(f"messages/topic={topic}/date={date}/"):
        raise ValueError(f"a file in the place of another topic or date: {path!r}")


def check_staged(path: str) -> None:
    """ValueError unless this is the path of a staged file."""
    # defect lake_staged_path_unchecked: if False:
    if not _STAGED.fullmatch(path):
        raise ValueError(f"a file staged outside of _staging/: {path!r}")
