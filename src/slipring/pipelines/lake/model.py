# SPDX-License-Identifier: Apache-2.0
"""What the log speaks of: files, runs of offsets, sessions; and the state that its entries add up to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from . import validation as admission

Json = dict[str, Any]
NO_ENTRY = (KeyError, TypeError, ValueError, AttributeError)  # what an entry raises that is none


@dataclass(frozen=True)
class Run:
    """Contiguous offsets of one generation of a topic: messages, and holes that account for the others."""

    generation: str  # 16 hexadecimal digits
    first: int
    end: int
    messages: int
    lost: int = 0
    abandoned: int = 0

    @classmethod
    def from_json(cls, value: Json) -> Run:
        run = cls(**value)
        admission.generation(run.generation)
        for name in ("first", "end", "messages", "lost", "abandoned"):
            admission.number(getattr(run, name), name)
        return run

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
    """The same runs in order, those that touch made one. Runs that overlap stay apart."""
    found: list[Run] = []
    for run in sorted(runs, key=lambda run: (run.generation, run.first, run.end)):
        if found and found[-1].generation == run.generation and found[-1].end == run.first:
            found[-1] = found[-1].joined(run)
        else:
            found.append(run)
    return found


@dataclass(frozen=True)
class File:
    """A Parquet file of the recording: one topic, one date."""

    path: str  # in the lake: messages/topic=<topic>/date=<date>/<name>.parquet
    staged: str  # where it lay before the commit
    topic: str
    date: str
    rows: int
    bytes: int
    crc32: str  # of the whole file
    runs: tuple[Run, ...]
    first_time_ns: int | None
    last_time_ns: int | None
    types: tuple[str, ...]

    @classmethod
    def from_json(cls, value: Json) -> File:
        """ValueError, KeyError or TypeError when it is none, or lies outside of the lake."""
        runs = tuple(Run.from_json(run) for run in value["runs"])
        types = tuple(admission.text(one, "a type") for one in value["types"])
        file = cls(**{**value, "runs": runs, "types": types})
        admission.stored_as(file.path, file.topic, file.date)
        admission.staged(file.staged)
        admission.text(file.crc32, "crc32")
        for name in ("rows", "bytes"):
            admission.number(getattr(file, name), name)
        admission.moment(file.first_time_ns, "first_time_ns")
        admission.moment(file.last_time_ns, "last_time_ns")
        if not runs:
            raise ValueError(f"a file without offsets: {file.path!r}")
        return file

    def may_hold(self, since_ns: int | None, until_ns: int | None) -> bool:
        """Whether something of that time can be in it."""
        if self.first_time_ns is None or self.last_time_ns is None:
            return True
        if any(run.lost or run.abandoned for run in self.runs):
            return True  # holes have another time
        too_old = since_ns is not None and self.last_time_ns < since_ns
        too_new = until_ns is not None and self.first_time_ns >= until_ns
        return not too_old and not too_new


@dataclass
class Session:
    """One recording: from `slipring record` to its end, over any number of crashes and restarts."""

    id: str
    started_ns: int
    about: Json
    finished: bool = False
    last_batch: int = -1
    bytes: int = 0  # of the files of its batches, before any compaction
    coverage: dict[str, list[Run]] = field(default_factory=dict)  # by topic

    @classmethod
    def from_json(cls, value: Json) -> Session:
        coverage = {topic: [Run.from_json(run) for run in runs] for topic, runs in value["coverage"].items()}
        return cls(**{**value, "coverage": coverage}).checked()

    def checked(self) -> Session:
        admission.text(self.id, "a session")
        admission.number(self.started_ns, "started_ns")
        admission.object_of(self.about, "about")
        admission.number(self.last_batch, "batch", -1)
        admission.number(self.bytes, "bytes")
        return self


@dataclass
class State:
    """The lake after its first `number` log entries."""

    number: int = 0
    files: dict[str, File] = field(default_factory=dict)
    replaced: dict[str, int] = field(default_factory=dict)  # path: when it was replaced by a compacted one
    sessions: dict[str, Session] = field(default_factory=dict)

    def apply(self, entry: Json) -> None:
        """Go on by one entry."""
        kind = entry["kind"]
        if kind == "session":
            session = Session(entry["session"], entry["time_ns"], entry["about"]).checked()
            self.sessions[session.id] = session
        elif kind == "batch":
            session = self.sessions[entry["session"]]
            session.last_batch = admission.number(entry["batch"], "batch", -1)  # -1: holes before any batch
            for file in self._add(entry):
                session.bytes += file.bytes
                covered = session.coverage.setdefault(file.topic, [])
                session.coverage[file.topic] = join([*covered, *file.runs])
        elif kind == "compaction":
            self._add(entry)
            for path in entry["remove"]:
                del self.files[path]
                self.replaced[path] = admission.number(entry["time_ns"], "time_ns")
        elif kind == "cleared":
            for path in entry["paths"]:
                self.replaced.pop(path, None)
        elif kind == "end":
            self.sessions[entry["session"]].finished = True
        else:
            raise ValueError(f"a kind of entry that this version does not know: {kind!r}")
        self.number += 1

    def _add(self, entry: Json) -> list[File]:
        added = [File.from_json(file) for file in entry["add"]]
        self.files.update((file.path, file) for file in added)
        return added

    def to_json(self) -> Json:
        return asdict(self) | {"files": [asdict(file) for file in self.files.values()]}

    @classmethod
    def from_json(cls, value: Json) -> State:
        files = {file["path"]: File.from_json(file) for file in value["files"]}
        sessions = {name: Session.from_json(one) for name, one in value["sessions"].items()}
        replaced = {
            admission.stored(path): admission.number(when, "time_ns")
            for path, when in value["replaced"].items()
        }
        return cls(admission.number(value["number"], "number"), files, replaced, sessions)
