# SPDX-License-Identifier: Apache-2.0
"""`_slipring.json`: the file that makes a directory a lake, and says of which version."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

from slipring.errors import BadArgument

from .errors import DamagedLake, NotALake, fault
from .local_path import local
from .log import place_whole
from .model import Json
from .validation import parsed

FORMAT, VERSION = "slipring-lake", 1
MARK = "_slipring.json"
PARTS = ("_log", "_topics", "_staging", "_checkpoint", "_locks", "messages")
TABLES = ("parquet", "delta")


def make(where: Path, table: str) -> Json:
    """Make the directory a lake, unless it is one; what its mark says."""
    if table not in TABLES:
        raise BadArgument(f"table={table!r} is neither 'parquet' nor 'delta'", argument="table")
    try:
        where.mkdir(parents=True, exist_ok=True)
        if not (where / MARK).exists():
            _lay_out(where, table)
    except FileExistsError:
        raise NotALake(f"{where} is a file: choose a directory", argument="to") from None
    except OSError as error:
        raise fault(error, where) from error
    about = read(where)
    if about["table"] != table:
        raise BadArgument(
            f"the lake {where} is kept as {about['table']}, asked for {table}: leave the format out, or "
            "choose another directory",
            argument="format",
        )
    return about


def table_of(path: str | os.PathLike[str]) -> str:
    """How the lake there is kept; "parquet" where there is none yet."""
    where = local(path, "to")
    table: str = read(where)["table"] if (where / MARK).exists() else TABLES[0]
    return table


def _lay_out(where: Path, table: str) -> None:
    unfinished = f".{MARK}."  # the temporary name of one that died while it made the lake
    strange = sorted(name for name in set(os.listdir(where)) - set(PARTS) if not name.startswith(unfinished))
    if strange:
        raise NotALake(
            f"{where} is not a lake and not empty (it has {strange[0]!r}): choose another directory",
            argument="to",
        )
    for part in PARTS:
        (where / part).mkdir(exist_ok=True)
    about = {"format": FORMAT, "version": VERSION, "id": uuid.uuid4().hex[:12], "table": table}
    try:
        place_whole(where / MARK, (json.dumps(about) + "\n").encode())
    except FileExistsError:
        return  # another process made it at the same time


def read(where: Path) -> Json:
    """What the mark of a lake says; an error that names it when it says nothing of the kind."""
    mark = where / MARK
    try:
        about = parsed(mark.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise NotALake(
            f"{where} is not a lake: it has no {MARK}; `slipring record TOPICS --to DIRECTORY` makes one",
            argument="lake",
        ) from None
    except OSError as error:
        raise fault(error, mark) from error
    except ValueError:
        raise DamagedLake(f"{mark} is damaged: restore it from a copy") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise NotALake(f"{mark} does not say that this is a lake of slipring: choose another directory")
    if about.get("version") != VERSION:
        found = about.get("version")
        raise NotALake(
            f"{mark} has version {found!r}, this slipring reads {VERSION}: install a newer slipring"
        )
    if not isinstance(about.get("id"), str) or about.get("table") not in TABLES:
        raise DamagedLake(f"{mark} is damaged (no id, or no table): restore it from a copy")
    return about
