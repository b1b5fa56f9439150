# SPDX-License-Identifier: Apache-2.0
"""The description of a Parquet file in the log: rows, runs of offsets, times, types, size and check sum.

It is computed from the rows of the narrow columns. Parquet's statistics would be faster, but pyarrow ends the process
(std::terminate) if the footer of a damaged file contradicts itself. A hole is a row whose time is NULL: its span may
be 1, like that of a message, and reading the bodies would take long.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import MissingExtra
from .errors import DamagedLake, fault
from .model import Run, join

try:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as missing:
    raise MissingExtra('lakes need the package pyarrow: pip install "slipring[spark]"') from missing

NARROW = ("generation", "offset", "span", "lost", "timestamp_ns")
CHUNK = 1 << 22


def checksum(path: str | os.PathLike[str], *, sync: bool = False) -> str:
    """Return the CRC-32 of a file. sync: force the file to disk."""
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


def hex_generation(generation: int) -> str:
    """Return a generation as the log writes it, from the signed number in the column."""
    return f"{generation & (1 << 64) - 1:016x}"


class FileFacts:
    """Reads the facts from an open Parquet file."""

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
                raise DamagedLake(f"{path} lacks the column {name!r} of a recording: restore it from a copy")

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Raise DamagedLake for everything that can go wrong while the file is read."""
        try:
            yield
        except (OSError, pa.ArrowException, ValueError, OverflowError, KeyError) as error:
            why = " ".join(str(error).split())
            raise DamagedLake(
                f"{self.path} is not a complete Parquet file ({why}): restore it from a copy"
            ) from error

    def __enter__(self) -> FileFacts:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def runs(self) -> list[Run]:
        """Return the runs of offsets in it. Offsets that are there twice give runs that overlap."""
        with self._readable():
            return join(run for table in self._tables(NARROW) for run in runs_of(table))

    def times(self) -> tuple[int | None, int | None]:
        """Return the times of the first and the last message."""
        with self._readable():
            return self._times()

    def types(self) -> list[str]:
        """Return the types of its messages."""
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
    """Return the runs in rows with the narrow columns."""
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
        runs.append(
            Run(hex_generation(int(generation[start])), first, end, int(received), int(missed), abandoned)
        )
    return runs
