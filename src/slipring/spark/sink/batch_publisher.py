# SPDX-License-Identifier: Apache-2.0
"""Publish the staged rows of a batch in order of partition, each once.

Each row has an increasing number: the batch in the upper half, its position in the batch in the lower. The outbox
(_bus/exactly_once/outbox.py) fixes the rows of a batch. The origin of each topic (_bus/exactly_once/origin.py) knows
the last number that became a message, through the death of any process.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from slipring._bus.bus import Bus
from slipring._bus.exactly_once.origin import Column, Origin
from slipring._bus.exactly_once.outbox import Batch, Outbox
from slipring.errors import Full, PeerGone

from .bodies import alike

_ROW_BITS: Final = 32
_SHORTEST_SLEEP_S: Final = 0.0005
_LONGEST_SLEEP_S: Final = 0.01
_COUNT: Final = 3  # index of the number of rows in a Column


class BatchPublisher:
    """Publishes one batch on its topics."""

    def __init__(self, bus: Bus, outbox: Outbox, timeout: float | None) -> None:
        self._bus, self._outbox, self._timeout = bus, outbox, timeout
        self._parent = os.getppid()

    def send(self, batch: Batch) -> None:
        with contextlib.ExitStack() as stack:
            origins = {topic: self._origin(topic, stack) for topic in batch.topics}
            number = (batch.number << _ROW_BITS) + 1
            for column, topic, kind, sender in self._runs(batch):
                self._send(origins[topic], number, column, kind, sender)
                number += column[_COUNT]

    def _origin(self, topic: str, stack: contextlib.ExitStack) -> Origin:
        origin = Origin(
            self._bus, topic, f"spark:{self._outbox.job}", directory=self._outbox.path, sender="spark"
        )
        stack.callback(origin.close)
        return origin

    def _runs(self, batch: Batch) -> Iterator[tuple[Column, str, str, str]]:
        """Yield runs of rows with the same topic, type and sender: their values, and the three texts."""
        for part in batch.parts:
            with pa.memory_map(self._outbox.file_of(part)) as source, pa.ipc.open_file(source) as file:
                for at in range(file.num_record_batches):
                    values, *texts = file.get_batch(at).columns
                    _, offsets, data = values.buffers()
                    for first, end in alike(texts):
                        column = (data or b"", offsets, values.offset + first, end - first)
                        yield column, *(text[first].as_py() for text in texts)

    def _send(self, origin: Origin, number: int, column: Column, kind: str, sender: str) -> None:
        """Publish a run of rows, waiting for the readers when there is no room."""
        data, offsets, first, count = column
        done, since, sleep_s = 0, time.monotonic(), _SHORTEST_SLEEP_S
        while True:
            rest = (data, offsets, first + done, count - done)
            sent = origin.send_rows(number + done, rest, kind, sender)
            done += sent
            if done == count:
                return
            if sent:
                since, sleep_s = time.monotonic(), _SHORTEST_SLEEP_S
            elif self._timeout is not None and time.monotonic() - since > self._timeout:
                problem = f"no room on topic {origin.topic!r} within timeout={self._timeout:g} s"
                hint = "`slipring info` shows its slow readers; a restarted query continues with the rest of the batch"
                raise Full(f"{problem}: {hint}", argument="timeout")
            if os.getppid() != self._parent:
                raise PeerGone(
                    "Spark has ended: the rest of the batch is published when the query is started again"
                )
            time.sleep(sleep_s)
            sleep_s = min(sleep_s * 2, _LONGEST_SLEEP_S)
