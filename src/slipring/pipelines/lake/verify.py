# SPDX-License-Identifier: Apache-2.0
"""Check every log entry, file and row of a recording, and name each problem.

1. Every log entry exists, and its check sum is right.
2. Every file that the log names exists, with its size, check sum and rows, and its rows have the offsets that the log
   names. Any other file in `messages/` is foreign.
3. Within a session, each topic and generation is contiguous: offset + span is the next offset. No offset is there
   twice. The files together have the messages, losses and abandoned messages of the committed batches.
4. The settings of each topic are valid, and the schema of each typed generation is there, valid, and has its hash.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from slipring.errors import SlipringError

from . import marker
from .file_facts import FileFacts, checksum
from .generations import Generation, contents
from .lake import Lake
from .local_path import local
from .log import canonical, unsealed
from .model import INVALID, File, Run, State, describe, join
from .topics import schema_files, topic_settings

MOVES = 2  # of a file: from its stage into place, and out of it when it is replaced


@dataclass(frozen=True)
class Problem:
    """A file or topic that is not as it was recorded, and what is wrong."""

    where: str
    what: str


@dataclass
class Verdict:
    """What was checked, and the problems that were found."""

    problems: list[Problem] = field(default_factory=list)
    entries: int = 0
    files: int = 0
    rows: int = 0
    bytes: int = 0
    generations: list[Generation] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        return not self.problems


def verify(path: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None) -> Verdict:
    """Check everything in the lake; NotALake if it is not one. progress(rows, bytes) is called meanwhile."""
    where = local(path, "lake")
    marker.read(where)
    verdict = Verdict(problems=list(_log_problems(where / "_log")))
    if verdict.problems:
        return verdict  # without the log it is not known what belongs to the recording
    lake = Lake.open(where)
    state = _added_up(lake, verdict)
    if state is None:
        return verdict
    files = list(state.files.values())
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for file, found in zip(files, threads.map(lambda one: _file_problems(lake, one), files), strict=True):
            verdict.problems.extend(found)
            verdict.files += 1
            verdict.rows += file.rows
            verdict.bytes += file.bytes
            if progress is not None:
                progress(verdict.rows, verdict.bytes)
    verdict.problems += [*_foreign(lake, state), *_offset_problems(state), *_topic_problems(lake)]
    verdict.generations = contents(lake)
    return verdict


def _log_problems(directory: Path) -> Iterator[Problem]:
    names = [name for name in os.listdir(directory) if name.endswith(".json") and name[:8].isdigit()]
    for number in range(int(max(names)[:8]) + 1 if names else 0):
        path = directory / f"{number:08d}.json"
        where = f"_log/{path.name}"
        try:
            unsealed("entry", path.read_bytes())
        except FileNotFoundError:
            yield Problem(where, "is missing, and later entries are there: restore it from a copy")
        except (OSError, ValueError) as error:
            yield Problem(where, f"is damaged ({error}): restore it from a copy")


def _added_up(lake: Lake, verdict: Verdict) -> State | None:
    """Return the state from the entries alone; a snapshot that differs is a problem. None if an entry is not valid."""
    state = State()
    for path, entry in lake.log.entries():
        try:
            state.apply(entry)
        except INVALID as error:
            why = f"is not a valid entry ({describe(error)}): restore it from a copy"
            verdict.problems.append(Problem(f"_log/{path.name}", why))
            return None
    verdict.entries = state.number
    if canonical(state.to_json()) != canonical(lake.state.to_json()):
        name = max(name for name in os.listdir(lake.path / "_log") if name.endswith(".snapshot"))
        verdict.problems.append(Problem(f"_log/{name}", "differs from the sum of the log entries: remove it"))
    return state


def _file_problems(lake: Lake, file: File) -> list[Problem]:
    """Check a file, again if a compaction moved it meanwhile."""
    for _ in range(MOVES):
        found = list(_problems_now(lake, file))
        if not found or (lake.path / file.path).exists():
            break
    return found


def _problems_now(lake: Lake, file: File) -> Iterator[Problem]:
    fix = "restore it from a copy"
    try:
        path = lake.where(file)
        size = path.stat().st_size
        if size != file.bytes:
            yield Problem(file.path, f"has {size} bytes instead of {file.bytes}: {fix}")
            return
        if checksum(path) != file.crc32:
            yield Problem(file.path, f"is damaged (its check sum is wrong): {fix}")
            return
        with FileFacts(path) as facts:
            if facts.rows != file.rows:
                yield Problem(file.path, f"has {facts.rows} rows instead of {file.rows}: {fix}")
            # defect lake_verify_reads_no_rows: elif False:
            elif facts.runs() != list(file.runs):
                yield Problem(file.path, "does not have the offsets that the log names")
    except FileNotFoundError:
        yield Problem(file.path, f"is missing: {fix}")
    except SlipringError as error:
        yield Problem(file.path, str(error).removeprefix(f"{lake.path / file.path} "))


def _foreign(lake: Lake, state: State) -> Iterator[Problem]:
    found = []
    for directory, _, names in os.walk(lake.path / "messages"):
        inside = os.path.relpath(directory, lake.path)
        if lake.table == "delta" and inside.split("/")[1:2] == ["_delta_log"]:
            continue
        # defect lake_verify_misses_foreign_files: pass
        found += [f"{inside}/{name}" for name in names]
    now = lake.refresh()  # a recorder may have committed meanwhile
    for path in sorted({*found} - {*state.files, *state.replaced, *now.files, *now.replaced}):
        yield Problem(path, "is foreign, not part of the recording: remove it")


def _offset_problems(state: State) -> Iterator[Problem]:
    recorded: dict[str, list[Run]] = defaultdict(list)
    for session in state.sessions.values():
        for topic, runs in session.coverage.items():
            recorded[topic] += runs
            for before, after in pairwise(runs):
                # defect lake_verify_misses_gaps: if False:
                if before.generation == after.generation and before.end < after.first:
                    gap = f"{before.end} to {after.first - 1}"
                    yield Problem(topic, f"offsets {gap} are missing from the recording {session.id}")
    stored: dict[str, list[Run]] = defaultdict(list)
    for file in state.files.values():
        stored[file.topic] += file.runs
    for topic in sorted({*recorded, *stored}):
        runs = join(stored[topic])
        for before, after in pairwise(runs):
            # defect lake_verify_misses_duplicates: if False:
            if before.generation == after.generation and before.end > after.first:
                double = f"{after.first} to {min(before.end, after.end) - 1}"
                yield Problem(topic, f"offsets {double} are there twice")
        if runs != join(recorded[topic]):
            yield Problem(topic, "the files do not have what was committed in batches")


def _topic_problems(lake: Lake) -> Iterator[Problem]:
    needed: dict[str, list[str]] = defaultdict(list)  # by hash of a schema: who has it
    for path in sorted((lake.path / "_topics").glob("*.json")):
        try:
            generations = topic_settings.checked(path)
        except ValueError as error:
            yield Problem(f"_topics/{path.name}", f"is damaged ({error}): {topic_settings.REMEDY}")
            continue
        for generation, settings in generations.items():
            if settings.schema is not None:
                needed[settings.schema].append(f"topic {path.stem!r} (generation {generation})")
    # defect lake_verify_skips_schemas: for name, owners in dict[str, list[str]]().items():
    for name, owners in needed.items():
        why = schema_files.problem(lake.path, name)
        if why is not None:
            yield Problem(f"_schemas/{name}.json", f"{why}; it is the schema of {', '.join(owners[:3])}")
