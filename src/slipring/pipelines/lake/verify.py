# SPDX-License-Identifier: Apache-2.0
"""Is the recording whole? Every log entry, file and row is looked at; what is wrong is named.

1. Every log entry is there and has its check sum.
2. Every file that the log names is there, with its size, check sum and rows, and its rows are the offsets
that the
   log says. What lies beside them and is not named is foreign.
3. Within a session, each topic and generation is contiguous: offset + span is the next offset. No offset is
there
   twice. Messages, lost and abandoned ones of the files are those of the batches that were committed.
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

from . import marker as mark
from .contents import Generation, contents
from .directory import Lake
from .file_facts import Facts, checksum
from .local_path import local
from .log import canonical, unsealed
from .model import NO_ENTRY, File, Run, State, join
from .validation import parsed

MOVES = 2  # of a file: from its stage into place, and out of it when it is replaced


@dataclass(frozen=True)
class Problem:
    """Something that is not as it was recorded."""

    where: str
    what: str


@dataclass
class Verdict:
    """What was looked at, and what is wrong with it."""

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
    """Look at everything in the lake; NotALake when it is none. progress(rows, bytes) is told on the way."""
    where = local(path, "lake")
    mark.read(where)
    verdict = Verdict(problems=list(_log_problems(where / "_log")))
    if verdict.problems:
        return verdict  # without the log nothing tells what belongs to the recording
    lake = Lake.open(where)
    state = _added_up(lake, verdict)
    if state is None:
        return verdict
    files = list(state.files.values())
    with ThreadPoolExecutor(os.cpu_count()) as crew:
        for file, found in zip(files, crew.map(lambda one: _file_problems(lake, one), files), strict=True):
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
    """The state from the entries alone; a snapshot that says something else is a problem. None: an entry says
    what cannot be."""
    state = State()
    for path, entry in lake.log.entries():
        try:
            state.apply(entry)
        except NO_ENTRY as error:
            why = f"says what cannot be ({error!r}): restore it from a copy"
            verdict.problems.append(Problem(f"_log/{path.name}", why))
            return None
    verdict.entries = state.number
    if canonical(state.to_json()) != canonical(lake.state.to_json()):
        name = max(name for name in os.listdir(lake.path / "_log") if name.endswith(".snapshot"))
        verdict.problems.append(Problem(f"_log/{name}", "is not what the log entries add up to: remove it"))
    return state


def _file_problems(lake: Lake, file: File) -> list[Problem]:
    """A compaction may take the file to its second name at any moment: then once more."""
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
        with Facts(path) as facts:
            if facts.rows != file.rows:
                yield Problem(file.path, f"has {facts.rows} rows instead of {file.rows}: {fix}")
            # defect lake_verify_reads_no_rows: elif False:
            elif facts.runs() != list(file.runs):
                yield Problem(file.path, "does not hold the offsets that the log says")
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
    now = lake.refresh()  # a recorder may have gone on meanwhile
    for path in sorted({*found} - {*state.files, *state.replaced, *now.files, *now.replaced}):
        yield Problem(path, "is foreign, no part of the recording: remove it")


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
            yield Problem(topic, "the files do not hold what was committed in batches")


def _topic_problems(lake: Lake) -> Iterator[Problem]:
    for path in sorted((lake.path / "_topics").glob("*.json")):
        try:
            parsed(path.read_bytes())
        except ValueError as error:
            why = f"is damaged ({error}): remove it; the next recording writes it again"
            yield Problem(f"_topics/{path.name}", why)
