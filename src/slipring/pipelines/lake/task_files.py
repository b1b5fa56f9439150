# SPDX-License-Identifier: Apache-2.0
"""What one task of a recording writes: its messages, straight from the ring into files of a stage.

A task has one range of one topic, so it writes one file, or two when midnight is in it. Its files have names
that no other attempt has; those of an attempt that failed stay in the stage, are never committed, and go with
it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from . import parquet
from .model import File
from .stage import described

DAY_NS = 86_400_000_000_000
EPOCH = date(1970, 1, 1)


def write(stage: Path, topic: str, batches: Iterable[pa.RecordBatch], *, sync: bool) -> list[File]:
    """Batches with the columns of a lake's rows as files under the stage, described for the log."""
    name = uuid.uuid4().hex[:16]
    open_files: dict[int, tuple[Path, pq.ParquetWriter]] = {}
    try:
        for rows in batches:
            for day, part in _by_day(rows):
                if day not in open_files:
                    path = _path(stage, topic, day, name)
                    open_files[day] = path, parquet.writer(path, rows.schema, "snappy")
                open_files[day][1].write_batch(part)
    finally:
        for _, writer in open_files.values():
            writer.close()
    return [described(stage, path, sync=sync) for path, _ in open_files.values()]


def _path(stage: Path, topic: str, day: int, name: str) -> Path:
    path = stage / f"topic={topic}" / f"date={EPOCH + timedelta(day)}" / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _by_day(rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Cut by day of UTC; a hole counts by when it was found. The order of rows stays."""
    days = pc.divide(pc.coalesce(rows["timestamp_ns"], rows["received_ns"]), DAY_NS)
    bounds = pc.min_max(days).as_py()
    # defect lake_midnight_ignored: if True:
    if bounds["min"] == bounds["max"]:
        if rows.num_rows:
            yield bounds["min"], rows
        return
    for day in pc.unique(days).to_pylist():
        yield day, rows.filter(pc.equal(days, day))
