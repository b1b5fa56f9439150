# SPDX-License-Identifier: Apache-2.0
"""Merge many small files of a topic and date into few large ones with the same rows.

A compaction is one log entry that adds the large file and removes the small ones. The small files are taken out of
`messages/` at once, so that other programs do not read their rows twice. They stay in `_held/` for present readers, and
are cleared later. A file with a wrong check sum is not merged: that would hide its damage.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from slipring._bus.logs import log

from . import delta, held, kill_points
from .errors import DamagedLake, fault
from .file_facts import checksum
from .locks import lock
from .model import File, Json, State, join
from .row_files import parquet_writer
from .stage import Stage, sweep

if TYPE_CHECKING:
    from .lake import Lake

TARGET_BYTES = 128 << 20
KEEP_S = 600.0
ROW_GROUP_BYTES = 32 << 20


@dataclass
class Compacted:
    """What a compaction did."""

    merged: int = 0
    into: int = 0
    cleared: int = 0


def compact(
    lake: Lake,
    *,
    target_bytes: int = TARGET_BYTES,
    at_least: int = 2,
    keep_s: float = KEEP_S,
    stopped: Callable[[], bool] = lambda: False,
) -> Compacted:
    """Merge the small files of each topic and date, and clear files that were replaced earlier.

    target_bytes: the size of a merged file. at_least: the least number of files worth a merge. keep_s: seconds for
    which replaced files stay. stopped: called between files; True ends the compaction."""
    done = Compacted()
    with lock(lake, "compact"):
        lake.refresh()
        lake.roll_forward()
        sweep(lake, "compact")
        for group in groups(lake.state, target_bytes, at_least):
            if stopped():
                break
            if merge(lake, group, stopped):
                done.merged += len(group)
                done.into += 1
        delta.mirror(lake)
        done.cleared = clear(lake, keep_s)
    if done.merged or done.cleared:
        log(
            "lake", "info", "%s: %d files merged into %d, %d replaced files deleted",
            lake.path, done.merged, done.into, done.cleared,
        )  # fmt: skip
    return done


def groups(state: State, target_bytes: int, at_least: int) -> Iterator[list[File]]:
    """Yield the files to merge: neighbours of one topic and date, each smaller than half of the target."""
    by_partition: dict[tuple[str, str], list[File]] = defaultdict(list)
    for file in state.files.values():
        if file.bytes < target_bytes // 2:
            by_partition[file.topic, file.date].append(file)
    for files in by_partition.values():
        group: list[File] = []
        for file in sorted(files, key=lambda file: (file.runs[0].generation, file.runs[0].first)):
            if group and sum(one.bytes for one in group) + file.bytes > target_bytes:
                if len(group) >= at_least:
                    yield group
                group = []
            group.append(file)
        if len(group) >= at_least:
            yield group


def merge(lake: Lake, group: list[File], stopped: Callable[[], bool] = lambda: False) -> bool:
    """Replace these files by one. Return False if it was stopped, or a file was replaced meanwhile."""
    stage = Stage(lake, "compact")
    try:
        if not _write(lake, group, stage, stopped):
            return False
        files = stage.files()
        _compare(lake, group, files)
        kill_points.reached("compaction staged")
        # defect lake_compaction_keeps_input: removed = [file.path for file in group[1:]]
        removed = [file.path for file in group]
        entry: Json = {"kind": "compaction", "time_ns": time.time_ns(), "remove": removed}
        entry["add"] = [file.to_json() for file in files]
        number = lake.log.append(
            lambda state: entry if all(path in state.files for path in removed) else None
        )
        if number is None:
            return False
        kill_points.reached("compaction linked")
        lake.move(files)
        lake.hide_replaced()
        return True
    finally:
        stage.remove()


def _write(lake: Lake, group: list[File], stage: Stage, stopped: Callable[[], bool]) -> bool:
    """Write the rows of the group into one file of the stage."""
    target = stage.path / f"topic={group[0].topic}" / f"date={group[0].date}" / "merged.parquet"
    try:
        target.parent.mkdir(parents=True)
        writer: pq.ParquetWriter | None = None
        try:
            for table in _row_groups(lake, group, stopped):
                if table is None:
                    return False
                if writer is None:
                    writer = parquet_writer(target, table.schema, "zstd")
                writer.write_table(table, row_group_size=table.num_rows)
        finally:
            if writer is not None:
                writer.close()
    except OSError as error:
        raise fault(error, target) from error
    return True


def _row_groups(lake: Lake, group: list[File], stopped: Callable[[], bool]) -> Iterator[pa.Table | None]:
    """Yield the rows in row groups of a good size; None if it is stopped."""
    waiting: list[pa.Table] = []
    for file in group:
        if stopped():
            yield None
            return
        path = lake.where(file)
        # defect lake_compaction_hides_damage: if False:
        if checksum(path) != file.crc32:
            raise DamagedLake(f"{path} is damaged (its check sum is wrong): restore it from a copy")
        with pq.ParquetFile(path) as source:
            for number in range(source.num_row_groups):
                waiting.append(source.read_row_group(number).replace_schema_metadata(None))
                if sum(table.nbytes for table in waiting) >= ROW_GROUP_BYTES:
                    yield pa.concat_tables(waiting)
                    waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _compare(lake: Lake, group: list[File], files: list[File]) -> None:
    """DamagedLake unless the merged file has the rows of the others."""
    before, after = ([run for file in some for run in file.runs] for some in (group, files))
    rows = sum(file.rows for file in group), sum(file.rows for file in files)
    if join(before) != join(after) or rows[0] != rows[1]:
        names = ", ".join(str(lake.path / file.path) for file in group)
        raise DamagedLake(
            f"these files do not have the offsets that the log names, and are not merged: {names}"
        )


def clear(lake: Lake, keep_s: float) -> int:
    """Delete files that were replaced more than `keep_s` seconds ago, and return their number."""
    # defect lake_replaced_deleted_at_once: oldest_ns = time.time_ns()
    oldest_ns = time.time_ns() - int(keep_s * 1e9)
    paths = [path for path, when in lake.refresh().replaced.items() if when <= oldest_ns]
    for path in paths:
        for name in (path, held.path_of(path)):
            try:
                lake.check_inside(lake.path / name)
                os.unlink(lake.path / name)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise fault(error, lake.path / name) from error
        kill_points.reached("file cleared")
    if paths:
        entry = {"kind": "cleared", "time_ns": time.time_ns(), "paths": paths}
        lake.log.append(lambda _: entry)
    return len(paths)
