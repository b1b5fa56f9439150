# SPDX-License-Identifier: Apache-2.0
"""`_slipring.json`: the file that marks a directory as a lake, with its version, id and kind of table."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Literal

from slipring.errors import BadArgument

from .errors import DamagedLake, NotALake, fault
from .local_path import local
from .log import link_new
from .validation import Struct, checked, parsed

FORMAT, VERSION = "slipring-lake", 1
MARKER = "_slipring.json"
PARTS = ("_log", "_topics", "_staging", "_checkpoint", "_locks", "messages")
TABLES = ("parquet", "delta")


class Marker(Struct):
    """The contents of the file."""

    format: str
    version: int
    id: str
    table: Literal["parquet", "delta"]


def make(where: Path, table: str) -> Marker:
    """Make the directory a lake, unless it is one, and return its marker."""
    if table not in TABLES:
        raise BadArgument(f"table={table!r} must be 'parquet' or 'delta'", argument="table")
    try:
        where.mkdir(parents=True, exist_ok=True)
        if not (where / MARKER).exists():
            _make_parts(where, table)
    except FileExistsError:
        raise NotALake(f"{where} is a file: choose a directory", argument="to") from None
    except OSError as error:
        raise fault(error, where) from error
    found = read(where)
    if found.table != table:
        raise BadArgument(
            f"the lake {where} has the format {found.table}, not {table}: omit the format, or choose another "
            "directory",
            argument="format",
        )
    return found


def table_of(path: str | os.PathLike[str]) -> str:
    """Return the kind of table of the lake there; "parquet" if there is no lake yet."""
    where = local(path, "to")
    return read(where).table if (where / MARKER).exists() else TABLES[0]


def _make_parts(where: Path, table: str) -> None:
    unfinished = f".{MARKER}."  # the temporary name of a process that was killed while it made the lake
    strange = sorted(name for name in set(os.listdir(where)) - set(PARTS) if not name.startswith(unfinished))
    if strange:
        raise NotALake(
            f"{where} is neither a lake nor empty (it has {strange[0]!r}): choose another directory",
            argument="to",
        )
    for part in PARTS:
        (where / part).mkdir(exist_ok=True)
    text = json.dumps({"format": FORMAT, "version": VERSION, "id": uuid.uuid4().hex[:12], "table": table})
    try:
        link_new(where / MARKER, (text + "\n").encode())
    except FileExistsError:
        return  # another process made it at the same time


def read(where: Path) -> Marker:
    """Read the marker of a lake; NotALake or DamagedLake if there is no valid one."""
    path = where / MARKER
    try:
        value = parsed(path.read_bytes())
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise NotALake(f"{path} is not the marker of a lake of slipring: choose another directory")
        if value.get("version") != VERSION:
            raise NotALake(
                f"{path} has version {value.get('version')!r}, and this slipring reads version {VERSION}: "
                "install a newer slipring"
            )
        return checked(value, Marker)
    except (FileNotFoundError, NotADirectoryError):
        raise NotALake(
            f"{where} is not a lake: it has no {MARKER}; `slipring record TOPICS --to DIRECTORY` makes one",
            argument="lake",
        ) from None
    except OSError as error:
        raise fault(error, path) from error
    except ValueError as error:
        raise DamagedLake(f"{path} is damaged ({error}): restore it from a copy") from None
