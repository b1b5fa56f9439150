# SPDX-License-Identifier: Apache-2.0
"""Rows of Spark, read ahead by a thread: a publisher with a schedule must not wait for a Spark job.

The thread is at most a few batches ahead. The end of the ``with`` block ends it, even while Spark is computing.
"""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

AHEAD = 4
_POLL_S = 0.1


class Feed:
    """Iterates over the first column of ``rows``, in order."""

    def __init__(self, rows: DataFrame) -> None:
        self._rows = rows
        self._tag = f"slipring-replay-{uuid.uuid4().hex}"
        self._ahead: queue.Queue[bytes | BaseException | None] = queue.Queue(AHEAD)
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._read, name="slipring-replay", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.set()
        while self._thread.is_alive():  # a job may begin after the first request to stop
            self._interrupt()
            self._thread.join(_POLL_S)

    def _interrupt(self) -> None:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        # If Spark's process is gone, there is nothing to stop: the thread fails by itself.
        with suppress(Py4JError, PySparkException, OSError):
            self._rows.sparkSession.interruptTag(self._tag)

    def __iter__(self) -> Iterator[bytes]:
        while (found := self._ahead.get()) is not None:
            if isinstance(found, BaseException):
                raise found
            yield found

    def _read(self) -> None:
        last: BaseException | None = None
        try:
            self._rows.sparkSession.addTag(self._tag)
            for row in self._rows.toLocalIterator(prefetchPartitions=True):
                if not self._put(bytes(row[0])):
                    return
        except Exception as error:  # noqa: BLE001 - raised again in the iteration
            last = error
        self._put(last)

    def _put(self, item: bytes | BaseException | None) -> bool:
        """Put an item into the queue; return False if the block was left."""
        while not self._left.is_set():
            try:
                self._ahead.put(item, timeout=_POLL_S)
            except queue.Full:
                continue
            return True
        return False
