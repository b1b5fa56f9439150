# SPDX-License-Identifier: Apache-2.0
"""The row for a lost range of a removed topic (option includeGaps).

Its columns are those of slipring._bus.ranges, which makes such rows for topics that exist.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .offset_ranges import Range

if TYPE_CHECKING:
    import pyarrow as pa

_TEXTS = ("topic", "sender", "type", "host")


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _type(column: str) -> pa.DataType:
    import pyarrow as pa

    if column == "timestamp":
        return pa.timestamp("us", "UTC")
    return pa.string() if column in _TEXTS else pa.binary() if column == "value" else pa.int64()


def batch(piece: Range, columns: Iterable[str]) -> pa.RecordBatch:
    """Return one row, for the loss of every sequence of the range."""
    import pyarrow as pa

    known: dict[str, Any] = {
        "topic": piece.topic,
        "offset": piece.start,
        "host": socket.gethostname(),
        "generation": _signed(piece.generation),
        "span": piece.size,
        "lost": piece.size,
        "received_ns": time.time_ns(),
    }
    names = list(columns)
    return pa.record_batch([pa.array([known.get(name)], _type(name)) for name in names], names=names)
