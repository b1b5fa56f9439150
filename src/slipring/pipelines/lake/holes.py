# SPDX-License-Identifier: Apache-2.0
"""Holes that no task read: rows for offsets whose topic is gone, so that the loss is recorded and counted."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from . import task_files
from .model import File

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


def write(stage: Path, holes: Iterable[tuple[str, str, int, int]], *, sync: bool = True) -> list[File]:
    """Files under the stage, one for each (topic, generation, first, end); all that was there counts as lost."""
    files: list[File] = []
    for topic, generation, first, end in holes:
        number = int(generation, 16)
        row = dict.fromkeys(SCHEMA.names) | {
            "generation": number - (1 << 64) if number >> 63 else number,
            "offset": first,
            "span": end - first,
            "lost": end - first,
            "host": socket.gethostname(),
            "received_ns": time.time_ns(),
        }
        batch = pa.RecordBatch.from_pylist([row], schema=SCHEMA)
        files += task_files.write(stage, topic, [batch], sync=sync)
    return files
