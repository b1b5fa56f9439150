# SPDX-License-Identifier: Apache-2.0
"""The log's entries, the files, runs of offsets and sessions in them, and the state that the entries add up to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .validation import (
    BatchNumber,
    Generation,
    Number,
    Struct,
    TimeNs,
    check_staged,
    check_stored,
    checked,
    field,
    plain,
)

Json = dict[str, Any]
INVALID = (KeyError, ValueError)  # raised for an entry or a snapshot that is not valid


def describe(error: Exception) -> str:
    """Return why an entry is not valid."""
    return f"it names {error}, which is not in the log" if isinstance(error, KeyError) else str(error)


@dataclass(frozen=True)
class OffsetRange:
    """Offsets of one generation of a topic."""

    topic: str
    generation: str  # 16 hexadecimal digits
    first: int
    end: int

    def __str__(self) -> str:
        return (
            f"offsets {self.first} to {self.end - 1} of topic {self.topic!r} (generation {self.generation})"
        )


class Run(Struct, frozen=True, forbid_unknown_fields=True):
    """Contiguous offsets of one generation of a topic: messages, and holes that account for the others."""

    generation: Generation
    first: Number
    end: Number
    messages: Number
    lost: Number = 0
    abandoned: Number = 0

    def joined(self, later: Run) -> Run:
        return Run(
            self.generation,
            self.first,
            later.end,
            self.messages + later.messages,
            self.lost + later.lost,
            self.abandoned + later.abandoned,
        )


def join(runs: Iterable[Run]) -> list[Run]:
    """Return the runs in order, adjacent ones as one. Runs that overlap stay apart."""
    found: list[Run] = []
    for run in sorted(runs, key=lambda run: (run.generation, run.first, run.end)):
        if found and found[-1].generation == run.generation and found[-1].end == run.first:
            found[-1] = found[-1].joined(run)
        else:
            found.append(run)
    return found


class File(Struct, frozen=True, forbid_unknown_fields=True):
    """A Parquet file of the recording: one topic, one date."""

    path: str  # in the lake: messages/topic=<topic>/date=<date>/<name>.parquet
    staged: str  # its path before the commit
    topic: str
    date: str
    rows: Number
    bytes: Number
    crc32: str  # of the whole file
    runs: tuple[Run, ...]
    first_time_ns: TimeNs | None
    last_time_ns: TimeNs | None
    types: tuple[str, ...]

    def __post_init__(self) -> None:
        check_stored(self.path, self.topic, self.date)
        check_staged(self.staged)
        if not self.runs:
            raise ValueError(f"a file without offsets: {self.path!r}")

    @classmethod
    def from_json(cls, value: Json) -> File:
        """ValueError if it is not valid, or lies outside of the lake."""
        return checked(value, cls)

    def to_json(self) -> Json:
        return plain(self)

    def may_hold(self, since_ns: int | None, until_ns: int | None) -> bool:
        """Whether the file can have rows of that time."""
        if self.first_time_ns is None or self.last_time_ns is None:
            return True
        if any(run.lost or run.abandoned for run in self.runs):
            return True  # holes have another time
        too_old = since_ns is not None and self.last_time_ns < since_ns
        too_new = until_ns is not None and self.first_time_ns >= until_ns
        return not too_old and not too_new


class Session(Struct):
    """One recording: from `slipring record` to its end, over any number of crashes and restarts."""

    id: str
    started_ns: Number
    about: Json
    finished: bool = False
    last_batch: BatchNumber = -1
    bytes: Number = 0  # of the files of its batches, before any compaction
    coverage: dict[str, list[Run]] = field(default_factory=dict)  # by topic


class SessionBegun(Struct, tag_field="kind", tag="session"):
    session: str
    time_ns: Number
    about: Json


class Batch(Struct, tag_field="kind", tag="batch"):
    session: str
    batch: BatchNumber
    add: list[File]


class Compaction(Struct, tag_field="kind", tag="compaction"):
    time_ns: Number
    add: list[File]
    remove: list[str]


class Cleared(Struct, tag_field="kind", tag="cleared"):
    paths: list[str]


class SessionEnded(Struct, tag_field="kind", tag="end"):
    session: str


Entry = SessionBegun | Batch | Compaction | Cleared | SessionEnded


class _Snapshot(Struct):
    number: Number
    files: list[File]
    replaced: dict[str, Number]
    sessions: dict[str, Session]

    def __post_init__(self) -> None:
        for path in self.replaced:
            check_stored(path)


class State(Struct):
    """The lake after its first `number` log entries."""

    number: int = 0
    files: dict[str, File] = field(default_factory=dict)
    replaced: dict[str, int] = field(default_factory=dict)  # path: time of its replacement by a compaction
    sessions: dict[str, Session] = field(default_factory=dict)

    def apply(self, value: Json) -> None:
        """Add one entry; KeyError or ValueError (INVALID) if it is not valid."""
        entry: Entry = checked(value, Entry)  # type: ignore[arg-type]
        match entry:
            case SessionBegun():
                self.sessions[entry.session] = Session(entry.session, entry.time_ns, entry.about)
            case Batch():
                session = self.sessions[entry.session]
                session.last_batch = entry.batch
                for file in self._add(entry.add):
                    session.bytes += file.bytes
                    covered = session.coverage.setdefault(file.topic, [])
                    session.coverage[file.topic] = join([*covered, *file.runs])
            case Compaction():
                self._add(entry.add)
                for path in entry.remove:
                    del self.files[path]
                    self.replaced[path] = entry.time_ns
            case Cleared():
                for path in entry.paths:
                    self.replaced.pop(path, None)
            case SessionEnded():
                self.sessions[entry.session].finished = True
        self.number += 1

    def _add(self, files: list[File]) -> list[File]:
        self.files.update((file.path, file) for file in files)
        return files

    def to_json(self) -> Json:
        return plain(_Snapshot(self.number, list(self.files.values()), self.replaced, self.sessions))

    @classmethod
    def from_json(cls, value: Json) -> State:
        """ValueError if it is not a valid snapshot."""
        found = checked(value, _Snapshot)
        return cls(found.number, {file.path: file for file in found.files}, found.replaced, found.sessions)
