# SPDX-License-Identifier: Apache-2.0
"""A reader of ranges: the messages between two sequences of a topic, read into Arrow any number of times.

It is for programs that plan first and read later, perhaps in another process and perhaps twice, as a Spark job
does. It takes no entry in the topic's tables and holds nothing back: a cursor keeps messages that must not
disappear meanwhile.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Self

from slipring.errors import BadArgument

from .batches import ArrowBatch
from .native import _native

if TYPE_CHECKING:
    import pyarrow

    from .bus import Bus

COLUMNS: tuple[str, ...] = _native.RANGE_COLUMNS
_EVERYTHING = (1 << 64) - 1


class RangeReader:
    """Reads ranges of one topic. Used by one thread at a time."""

    def __init__(self, bus: Bus, topic: str) -> None:
        self._native = _native.Range(bus.path, bus._topic(topic))
        self.topic = topic
        self.generation = self._native.generation
        self.schema: bytes | None = self._native.schema
        self.delivery = "reliable" if self._native.reliable else "lossy"
        self.lost = 0
        """Messages that were overwritten before `batches` could read them."""
        self.reached = 0
        """The next sequence that `batches` has not returned, as a message or a gap."""

    def oldest(self) -> int:
        """Return the lowest sequence that is still readable."""
        return self._native.oldest()

    def settled_end(self, start: int, rows: int | None = None, size: int | None = None) -> int:
        """Return the end of the settled sequences from start on: each below it is a message or will never be one.

        At most `rows` sequences and `size` bytes of bodies, but at least one sequence if there is one."""
        rows = _EVERYTHING if rows is None else rows
        return self._native.settled(start, rows, _EVERYTHING if size is None else size)

    def at_time(self, time_ns: int) -> int:
        """Return the first readable sequence that was sent then or later; else the next one to be published."""
        return self._native.at_time(time_ns)

    def batches(
        self,
        start: int,
        end: int,
        columns: Iterable[str] = COLUMNS[:8],
        size: int = 1 << 20,
        gaps: bool = False,
    ) -> Iterator[pyarrow.RecordBatch]:
        """Yield the messages of [start, end) in batches with bodies of about `size` bytes.

        With gaps, sequences without a message are rows too: value is NULL, offset the first of them, span their
        number, lost the number of messages lost among them. `end` must not be beyond `settled_end(start)`."""
        import pyarrow

        asked = list(columns)
        for column in asked:
            if column not in COLUMNS:
                raise BadArgument(
                    f"columns has {column!r}: allowed are {', '.join(COLUMNS)}", argument="columns"
                )
        mask = sum(1 << COLUMNS.index(column) for column in set(asked))
        in_order = asked == [column for column in COLUMNS if column in asked]
        host = socket.gethostname()
        self.reached = start
        if start < end:
            self._native.begin(start)
        while self.reached < end:
            self.reached, lost, capsules = self._native.batch(end, mask, size, gaps, host)
            self.lost += lost
            if capsules is not None:
                batch = pyarrow.record_batch(ArrowBatch(capsules))
                yield batch if in_order else batch.select(asked)

    def close(self) -> None:
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
