# SPDX-License-Identifier: Apache-2.0
"""Rows into Parquet files of a stage: the messages of a task, and holes.

A task has one range of one topic, so it writes one file, or two if midnight is in it. Its files have names that no
other attempt has. Files of a failed attempt stay in the stage, are never committed, and are removed with it.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .model import File, OffsetRange
from .stage import file_entry

SCHEMA = pa.schema(
    [
        ("generation", pa.int64()),
        ("offset", pa.int64()),
        ("span", pa.int64()),
        ("lost", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp_ns", pa.int64()),
        ("sender", pa.string()),
        ("type", pa.string()),
        ("value", pa.binary()),
        ("host", pa.string()),
        ("received_ns", pa.int64()),
    ]
)
REPEATING = ["generation", "span", "lost", "sender", "type", "host", "received_ns"]  # as dictionaries
GROWING = ["offset", "timestamp", "timestamp_ns"]  # as differences
DAY_NS = 86_400_000_000_000
EPOCH = date(1970, 1, 1)


def write(stage: Path, topic: str, batches: Iterable[pa.RecordBatch], *, sync: bool) -> list[File]:
    """Write batches with the columns of SCHEMA into files of the stage, and return these as the log describes them."""
    name = uuid.uuid4().hex[:16]
    open_files: dict[int, tuple[Path, pq.ParquetWriter]] = {}
    try:
        for rows in batches:
            for day, part in _by_day(rows):
                if day not in open_files:
                    path = _path(stage, topic, day, name)
                    open_files[day] = path, parquet_writer(path, rows.schema, "snappy")
                open_files[day][1].write_batch(part)
    finally:
        for _, writer in open_files.values():
            writer.close()
    found = [file_entry(stage, path, sync=sync) for path, _ in open_files.values()]
    return [file for file in found if file is not None]


def write_holes(stage: Path, lost: Iterable[OffsetRange], *, sync: bool = True) -> list[File]:
    """Write a hole for each range of offsets whose topic is gone; all of them count as lost."""
    files: list[File] = []
    for one in lost:
        number = int(one.generation, 16)
        row = dict.fromkeys(SCHEMA.names) | {
            "generation": number - (1 << 64) if number >> 63 else number,
            "offset": one.first,
            "span": one.end - one.first,
            "lost": one.end - one.first,
            "host": socket.gethostname(),
            "received_ns": time.time_ns(),
        }
        batch = pa.RecordBatch.from_pylist([row], schema=SCHEMA)
        files += write(stage, one.topic, [batch], sync=sync)
    return files


def parquet_writer(path: str | os.PathLike[str], schema: pa.Schema, compression: str) -> pq.ParquetWriter:
    """Open a Parquet file for rows of a lake. Bodies are seldom equal, and need no bounds."""
    options: dict[str, Any] = {"use_dictionary": REPEATING, "write_statistics": [*REPEATING, *GROWING]}
    differences = {name: "DELTA_BINARY_PACKED" for name in GROWING}
    return pq.ParquetWriter(
        path, schema.remove_metadata(), compression=compression, column_encoding=differences, **options
    )


def _path(stage: Path, topic: str, day: int, name: str) -> Path:
    path = stage / f"topic={topic}" / f"date={EPOCH + timedelta(day)}" / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _by_day(rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Cut rows by day of UTC, in their order. The time of a hole is the time at which it was noticed."""
    days = pc.divide(pc.coalesce(rows["timestamp_ns"], rows["received_ns"]), DAY_NS)
    bounds = pc.min_max(days).as_py()
    # defect lake_midnight_ignored: if True:
    if bounds["min"] == bounds["max"]:
        if rows.num_rows:
            yield bounds["min"], rows
        return
    for day in pc.unique(days).to_pylist():
        yield day, rows.filter(pc.equal(days, day))
