# SPDX-License-Identifier: Apache-2.0
"""What the log says about a Parquet file: rows, runs of offsets, times, types, size and check sum.

They are read from the rows of the narrow columns. Parquet's statistics would be faster, but pyarrow ends the process
(std::terminate) where the footer of a damaged file contradicts itself. The time of a hole is NULL, which no message's
is: its span may be 1, as a message's, and bodies are too wide to be read.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import DamagedLake, MissingExtra, fault
from .model import Run, join

try:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as missing:
    raise MissingExtra('files of a lake are read by pyarrow: pip install "slipring[spark]"') from missing

NARROW = ("generation", "offset", "span", "lost", "timestamp_ns")
CHUNK = 1 << 22


def checksum(path: str | os.PathLike[str], *, sync: bool = False) -> str:
    """CRC-32 of a file; with sync the file is on disk when this returns."""
    total = 0
    try:
        with open(path, "rb", buffering=0) as file:
            while chunk := file.read(CHUNK):
                total = zlib.crc32(chunk, total)
            if sync:
                os.fsync(file.fileno())
    except OSError as error:
        raise fault(error, path) from error
    return f"{total:08x}"


def hexed(generation: int) -> str:
    """A generation as the log writes it, from the signed number in the column."""
    return f"{generation & (1 << 64) - 1:016x}"


class Facts:
    """An open Parquet file of messages, looked at."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with self._readable():
            self._file = pq.ParquetFile(path, read_dictionary=["type"])
        self.rows: int = self._file.metadata.num_rows
        schema = self._file.schema_arrow
        for name in (*NARROW, "type"):
            column = schema.get_field_index(name)
            if column < 0 or (name != "type" and schema.field(column).type != pa.int64()):
                self._file.close()
                raise DamagedLake(f"{path} has no column {name!r} of a recording: restore it from a copy")

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Whatever the bytes are: they can be read, or the file is damaged."""
        try:
            yield
        except (OSError, pa.ArrowException, ValueError, OverflowError, KeyError) as error:
            why = " ".join(str(error).split())
            raise DamagedLake(
                f"{self.path} is not a whole Parquet file ({why}): restore it from a copy"
            ) from error

    def __enter__(self) -> Facts:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def runs(self) -> list[Run]:
        """The runs of offsets in it; doubles overlap."""
        with self._readable():
            return join(run for table in self._tables(NARROW) for run in runs_of(table))

    def times(self) -> tuple[int | None, int | None]:
        """The first and last time of a message, in nanoseconds."""
        with self._readable():
            return self._times()

    def types(self) -> list[str]:
        """The types of messages in it."""
        with self._readable():
            return self._types()

    def _times(self) -> tuple[int | None, int | None]:
        found = []
        for table in self._tables(("timestamp_ns",)):
            times = table["timestamp_ns"].drop_null().to_numpy()
            if len(times):
                found += [int(times.min()), int(times.max())]
        return (min(found), max(found)) if found else (None, None)

    def _types(self) -> list[str]:
        found: set[str] = set()
        for table in self._tables(("type",)):
            found.update(text for text in table["type"].unique().to_pylist() if text is not None)
        return sorted(found)

    def _tables(self, columns: tuple[str, ...]) -> Iterator[pa.Table]:
        for group in range(self._file.num_row_groups):
            yield self._file.read_row_group(group, columns=list(columns))


def runs_of(table: pa.Table) -> list[Run]:
    """The runs in rows with the narrow columns; rows that are there twice give runs that overlap."""
    if not table.num_rows:
        return []
    hole = table["timestamp_ns"].is_null().to_numpy()
    generation, offset, span, lost = (table[name].to_numpy() for name in NARROW[:4])
    if (generation[1:] != generation[:-1]).any() or (offset[1:] < offset[:-1]).any():
        order = np.lexsort((offset, generation))
        generation, offset, span, lost, hole = (
            column[order] for column in (generation, offset, span, lost, hole)
        )
    ends = offset + span
    breaks = (generation[1:] != generation[:-1]) | (offset[1:] != ends[:-1])
    starts = np.concatenate(([0], np.flatnonzero(breaks) + 1))
    stops = np.concatenate((starts[1:], [len(offset)])) - 1
    messages, losses = np.add.reduceat((~hole).astype(np.int64), starts), np.add.reduceat(lost, starts)
    # defect lake_holes_are_messages: messages, runs = stops - starts + 1, []
    runs = []
    for start, stop, received, missed in zip(starts, stops, messages, losses, strict=True):
        first, end = int(offset[start]), int(ends[stop])
        abandoned = end - first - int(received) - int(missed)
        runs.append(Run(hexed(int(generation[start])), first, end, int(received), int(missed), abandoned))
    return runs
