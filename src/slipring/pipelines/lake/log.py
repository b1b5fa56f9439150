# SPDX-License-Identifier: Apache-2.0
"""The log of a lake: what belongs to the recording, and nothing else does.

Entry n is the file `_log/%08d.json`, one JSON object {"entry": …, "crc32": …}; the sum is that of the entry's
canonical text. It is written whole under a temporary name, forced to disk, and linked to its number: that is
the commit. A number can be linked once, so whoever finds it taken reads what is new and decides again. Every
hundredth entry is followed by a snapshot, the state of all entries so far, which only saves time.
"""

from __future__ import annotations

import json
import os
import re
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from . import kill_points as places
from .errors import DamagedLake, fault
from .model import NO_ENTRY, Json, State
from .validation import parsed

SNAPSHOT_EVERY = 100
_ENTRY = re.compile(r"\d{8}\.json")
_SNAPSHOT = re.compile(r"\d{8}\.snapshot")


def canonical(value: Json) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def sealed(name: str, value: Json) -> bytes:
    """A JSON object with its check sum."""
    text = canonical(value)
    return f'{{"crc32":"{zlib.crc32(text.encode()):08x}","{name}":{text}}}\n'.encode()


def unsealed(name: str, data: bytes) -> Json:
    """What `sealed` sealed; ValueError when it is anything else."""
    outer = parsed(data)
    if not isinstance(outer, dict) or not isinstance(outer.get(name), dict):
        raise ValueError(f"there is no {name!r} in it")
    value: Json = outer[name]
    # defect lake_log_checksum_ignored: if False:
    if outer.get("crc32") != f"{zlib.crc32(canonical(value).encode()):08x}":
        raise ValueError("its check sum is wrong")
    return value


def place_whole(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write a file whole or not at all; FileExistsError when it is there and may not be replaced."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        places.reached("entry written")
        if replace:
            os.replace(temporary, path)
        else:
            os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError as error:
        raise fault(error, path) from error
    finally:
        temporary.unlink(missing_ok=True)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


class Log:
    """The log of one lake, and the state it adds up to."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.state = self._newest_snapshot()
        self.refresh()

    def path(self, number: int) -> Path:
        return self.directory / f"{number:08d}.json"

    def append(self, decide: Callable[[State], Json | None]) -> int | None:
        """Append what `decide` makes of the state; the entry's number, or None: nothing was to be done."""
        while True:
            self.refresh()
            entry = decide(self.state)
            if entry is None:
                return None
            number = self.state.number
            try:
                place_whole(self.path(number), sealed("entry", entry))
            except FileExistsError:
                # defect lake_append_gives_up: return None
                continue  # somebody was faster: decide again, knowing what they did
            self.refresh()
            return number

    def refresh(self) -> None:
        """Read the entries that are new."""
        while (entry := self._entry(self.state.number)) is not None:
            try:
                self.state.apply(entry)
            except NO_ENTRY as error:
                raise self._damaged(self.path(self.state.number), repr(error)) from error
            if self.state.number % SNAPSHOT_EVERY == 0:
                self._write_snapshot()

    def entries(self) -> Iterator[tuple[Path, Json]]:
        """All entries from the first, read again."""
        for number in range(self.state.number):
            yield self.path(number), self.entry(number)

    def entry(self, number: int) -> Json:
        """An entry that has to be there."""
        entry = self._entry(number)
        if entry is None:
            raise self._damaged(self.path(number), "it is missing")
        return entry

    def numbers(self) -> list[int]:
        """The numbers that are there."""
        return sorted(int(name[:8]) for name in os.listdir(self.directory) if _ENTRY.fullmatch(name))

    def _entry(self, number: int) -> Json | None:
        path = self.path(number)
        try:
            return unsealed("entry", path.read_bytes())
        except FileNotFoundError:
            if self.path(number + 1).exists():
                raise self._damaged(path, "it is missing, and later ones are there") from None
            return None
        except OSError as error:
            raise fault(error, path) from error
        except ValueError as error:
            raise self._damaged(path, str(error)) from error

    def _damaged(self, path: Path, why: str) -> DamagedLake:
        return DamagedLake(
            f"the log entry {path} is damaged ({why}): restore it from a copy, or give up what it and later "
            "ones recorded by moving them out of _log"
        )

    def _newest_snapshot(self) -> State:
        names = sorted(
            (name for name in os.listdir(self.directory) if _SNAPSHOT.fullmatch(name)), reverse=True
        )
        for name in names:
            try:
                state = State.from_json(unsealed("state", (self.directory / name).read_bytes()))
            except (OSError, *NO_ENTRY):
                continue  # it only saves time: the entries say the same
            if self.path(state.number - 1).exists():
                return state
        return State()

    def _write_snapshot(self) -> None:
        path = self.directory / f"{self.state.number:08d}.snapshot"
        if path.exists() or not os.access(self.directory, os.W_OK):
            return
        try:
            place_whole(path, sealed("state", self.state.to_json()))
        except FileExistsError:
            return  # another process wrote the same
        older = self.directory / f"{self.state.number - 2 * SNAPSHOT_EVERY:08d}.snapshot"
        older.unlink(missing_ok=True)
