# SPDX-License-Identifier: Apache-2.0
"""What a log may say. A recording may come from anybody, check sums and all: what it names has to lie inside the
lake, where this package puts it, and numbers have to be numbers. Everything else is a ValueError."""

from __future__ import annotations

import json
import re
from typing import Any

NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
_FILE = re.compile(
    rf"messages/topic=(?P<topic>{NAME})/date=(?P<date>\d{{4}}-\d\d-\d\d)/[\w.-]+\.parquet", re.ASCII
)
_STAGED = re.compile(rf"_staging/[\w-]+/topic={NAME}/date=\d{{4}}-\d\d-\d\d/[\w.-]+\.parquet", re.ASCII)
_GENERATION = re.compile(r"[0-9a-f]{16}")
_MOST = 1 << 63


def parsed(data: bytes) -> Any:
    """JSON that is not nested without end."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def number(value: Any, what: str, least: int = 0) -> int:
    if type(value) is not int or not least <= value < _MOST:
        raise ValueError(f"{what} is no number that can be")
    return value


def text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{what} is no text")
    return value


def moment(value: Any, what: str) -> int | None:
    return None if value is None else number(value, what, -_MOST)


def object_of(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no object")
    return value


def generation(value: Any) -> str:
    if not isinstance(value, str) or not _GENERATION.fullmatch(value):
        raise ValueError("a generation is 16 hexadecimal digits")
    return value


def stored(path: Any) -> str:
    """The path of a file of the recording: inside the lake, whatever the log says."""
    # defect lake_replaced_path_unchecked: if not isinstance(path, str):
    if not isinstance(path, str) or not _FILE.fullmatch(path):
        raise ValueError(f"a file outside of messages/: {path!r}")
    return path


def stored_as(path: Any, topic: Any, date: Any) -> str:
    # defect lake_file_path_unchecked: return text(path, "path")
    match = _FILE.fullmatch(stored(path))
    if match is None or match["topic"] != topic or match["date"] != date:
        raise ValueError(f"a file in the place of another topic or date: {path!r}")
    return text(path, "path")


def staged(path: Any) -> str:
    # defect lake_staged_path_unchecked: if not isinstance(path, str):
    if not isinstance(path, str) or not _STAGED.fullmatch(path):
        raise ValueError(f"a file staged outside of _staging/: {path!r}")
    return path
