# SPDX-License-Identifier: Apache-2.0
"""How the Parquet files of a lake are written: what is worth a dictionary, and bounds.

Offsets and times grow by small steps, and are stored as those. Bodies are seldom the same twice.
"""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

REPEATING = ["generation", "span", "lost", "sender", "type", "host", "received_ns"]
GROWING = ["offset", "timestamp", "timestamp_ns"]
BOUNDED = [*REPEATING, *GROWING]  # bodies need no lowest and highest


def writer(path: str | os.PathLike[str], schema: pa.Schema, compression: str) -> pq.ParquetWriter:
    """A file of rows as they are in the lake."""
    options: dict[str, Any] = {"use_dictionary": REPEATING, "write_statistics": BOUNDED}
    steps = {name: "DELTA_BINARY_PACKED" for name in GROWING}
    return pq.ParquetWriter(
        path, schema.remove_metadata(), compression=compression, column_encoding=steps, **options
    )
