# SPDX-License-Identifier: Apache-2.0
"""`_schemas/<hash>.json`: the schemas of recorded topics, as the topics had them. The name is the SHA-256 of the bytes.

A file is written once, before the settings of the topic name it, and never changed. It is checked when it is read.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from slipring._bus.schema.schema_document import MOST_BYTES
from slipring._bus.schema.topic_schema import Schema
from slipring.errors import Corrupt, SlipringError

from ..errors import DamagedLake, fault
from ..log import replace

if TYPE_CHECKING:
    from ..lake import Lake


def path_of(lake: Path, name: str) -> Path:
    return lake / "_schemas" / f"{name}.json"


def keep(lake: Lake, data: bytes) -> str:
    """Write the bytes of a topic's schema, unless the lake has them, and return their hash."""
    name = hashlib.sha256(data).hexdigest()
    path = path_of(lake.path, name)
    try:
        path.parent.mkdir(exist_ok=True)
        # defect lake_schema_through_link: pass
        lake.check_inside(path)
        if path.exists() and path.read_bytes() == data:
            return name
    except OSError as error:
        raise fault(error, path) from error
    replace(path, data)
    return name


def load(lake: Path, name: str) -> Schema:
    """Return a schema; Corrupt names the file if it is not the schema with this hash, DamagedLake if it is missing."""
    path = path_of(lake, name)
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise DamagedLake(f"{path} is missing: restore it from a copy") from None
    except OSError as error:
        raise fault(error, path) from error
    if len(data) > MOST_BYTES:
        raise Corrupt(
            f"{path} has more than {MOST_BYTES} bytes, a schema has at most so many", argument="schema"
        )
    # defect lake_schema_hash_unchecked: if False:
    if hashlib.sha256(data).hexdigest() != name:
        raise Corrupt(f"{path} does not have its hash: restore it from a copy", argument="schema")
    try:
        return Schema.from_bytes(data)
    except Corrupt as error:
        raise Corrupt(f"{path}: {error}", argument="schema") from None


def problem(lake: Path, name: str) -> str | None:
    """Return what is wrong with a schema that a topic needs, or None."""
    try:
        load(lake, name)
    except SlipringError as error:
        return str(error).removeprefix(str(path_of(lake, name))).lstrip(": ")
    return None
