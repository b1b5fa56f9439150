# SPDX-License-Identifier: Apache-2.0
"""The log of a lake. It names everything that belongs to the recording.

Entry n is the file `_log/%08d.json`, one JSON object {"entry": …, "crc32": …}, with the check sum of the entry's
canonical text. It is written under a temporary name, forced to disk, and linked to its number: that is the commit. A
number can be linked only once. A writer that finds its number taken reads the new entries and decides again. Every
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

from . import kill_points
from .errors import DamagedLake, fault
from .model import INVALID, Json, State, describe
from .validation import parsed

SNAPSHOT_EVERY = 100
_ENTRY = re.compile(r"\d{8}\.json")
_SNAPSHOT = re.compile(r"\d{8}\.snapshot")


def canonical(value: Json) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def sealed(name: str, value: Json) -> bytes:
    """Return a JSON object as text, with its check sum."""
    text = canonical(value)
    return f'{{"crc32":"{zlib.crc32(text.encode()):08x}","{name}":{text}}}\n'.encode()


def unsealed(name: str, data: bytes) -> Json:
    """Return the object from text of `sealed`; ValueError if it is not such a text."""
    outer = parsed(data)
    if not isinstance(outer, dict) or not isinstance(outer.get(name), dict):
        raise ValueError(f"it has no object {name!r}")
    value: Json = outer[name]
    # defect lake_log_checksum_ignored: if False:
    if outer.get("crc32") != f"{zlib.crc32(canonical(value).encode()):08x}":
        raise ValueError("its check sum is wrong")
    return value


def link_new(path: Path, data: bytes) -> None:
    """Create a file completely or not at all; FileExistsError if there is one of that name."""
    _write(path, data, os.link)


def replace(path: Path, data: bytes) -> None:
    """Replace a file as a whole, or create it."""
    _write(path, data, os.replace)


def _write(path: Path, data: bytes, name: Callable[[Path, Path], None]) -> None:
    """Write a temporary file, force it to disk, and give it its name with `name(temporary, path)`."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        kill_points.reached("entry written")
        name(temporary, path)
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
    """The log of one lake, and the state that its entries add up to."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.state = self._newest_snapshot()
        self.refresh()

    def path(self, number: int) -> Path:
        return self.directory / f"{number:08d}.json"

    def append(self, decide: Callable[[State], Json | None]) -> int | None:
        """Append the entry that `decide` returns for the state. Return its number, or None if `decide` returns None."""
        while True:
            self.refresh()
            entry = decide(self.state)
            if entry is None:
                return None
            number = self.state.number
            try:
                link_new(self.path(number), sealed("entry", entry))
            except FileExistsError:
                # defect lake_append_gives_up: return None
                continue  # another writer was faster: decide again, with its entry
            self.refresh()
            return number

    def refresh(self) -> None:
        """Read new entries, and write the snapshot that follows every hundredth."""
        while (entry := self._entry(self.state.number)) is not None:
            try:
                self.state.apply(entry)
            except INVALID as error:
                raise self._damaged(self.path(self.state.number), describe(error)) from error
            if self.state.number % SNAPSHOT_EVERY == 0:
                self._write_snapshot()

    def entries(self) -> Iterator[tuple[Path, Json]]:
        """Yield all entries from the first on, read again."""
        for number in range(self.state.number):
            yield self.path(number), self.entry(number)

    def entry(self, number: int) -> Json:
        """Return an entry; DamagedLake if it is missing."""
        entry = self._entry(number)
        if entry is None:
            raise self._damaged(self.path(number), "it is missing")
        return entry

    def numbers(self) -> list[int]:
        """Return the numbers of existing entries."""
        return sorted(int(name[:8]) for name in os.listdir(self.directory) if _ENTRY.fullmatch(name))

    def _entry(self, number: int) -> Json | None:
        path = self.path(number)
        try:
            return unsealed("entry", path.read_bytes())
        except FileNotFoundError:
            if self.path(number + 1).exists():
                raise self._damaged(path, "it is missing, and later ones exist") from None
            return None
        except OSError as error:
            raise fault(error, path) from error
        except ValueError as error:
            raise self._damaged(path, str(error)) from error

    def _damaged(self, path: Path, why: str) -> DamagedLake:
        return DamagedLake(
            f"the log entry {path} is damaged ({why}): restore it from a copy, or move it and all later entries out "
            "of _log, which removes what they recorded"
        )

    def _newest_snapshot(self) -> State:
        names = sorted(
            (name for name in os.listdir(self.directory) if _SNAPSHOT.fullmatch(name)), reverse=True
        )
        for name in names:
            try:
                state = State.from_json(unsealed("state", (self.directory / name).read_bytes()))
            except (OSError, *INVALID):
                continue  # the entries have the same contents
            if self.path(state.number - 1).exists():
                return state
        return State()

    def _write_snapshot(self) -> None:
        path = self.directory / f"{self.state.number:08d}.snapshot"
        if path.exists() or not os.access(self.directory, os.W_OK):
            return
        try:
            link_new(path, sealed("state", self.state.to_json()))
        except FileExistsError:
            return  # another process wrote it
        older = self.directory / f"{self.state.number - 2 * SNAPSHOT_EVERY:08d}.snapshot"
        older.unlink(missing_ok=True)
