# SPDX-License-Identifier: Apache-2.0
"""Publishing staged rows, in order of partition, each once.

A row has a number that grows: its batch in the upper half, its place in the batch in the lower. The outbox
(slipring._bus.outbox) fixes what the rows of a batch are; the origin (slipring._bus.origin) of each topic
knows the last number that became a message, whatever was killed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from slipring._bus.bus import Bus
from slipring._bus.origin import Origin
from slipring._bus.outbox import Batch, Outbox
from slipring.errors import Full, PeerGone

_ROW_BITS: Final = 32
_LONGEST_LOOK_S: Final = 0.01


class Publishing:
    """One batch on its way to its topics."""

    def __init__(self, bus: Bus, outbox: Outbox, timeout: float | None) -> None:
        self._bus, self._outbox, self._timeout = bus, outbox, timeout
        self._parent = os.getppid()

    def send(self, batch: Batch) -> None:
        with contextlib.ExitStack() as stack:
            origins = {topic: self._origin(topic, stack) for topic in batch.topics}
            number = batch.number << _ROW_BITS
            for value, topic, kind, sender in self._rows(batch):
                number += 1
                self._send(origins[topic], number, value, kind, sender)

    def _origin(self, topic: str, stack: contextlib.ExitStack) -> Origin:
        origin = Origin(
            self._bus, topic, f"spark:{self._outbox.job}", directory=self._outbox.path, sender="spark"
        )
        stack.callback(origin.close)
        return origin

    def _rows(self, batch: Batch) -> Iterator[tuple[pa.Buffer, str, str, str]]:
        for part in batch.parts:
            with pa.memory_map(self._outbox.file_of(part)) as source, pa.ipc.open_file(source) as file:
                for at in range(file.num_record_batches):
                    columns = file.get_batch(at).columns
                    bodies = (scalar.as_buffer() for scalar in columns[0])
                    yield from zip(bodies, *(column.to_pylist() for column in columns[1:]), strict=True)

    def _send(self, origin: Origin, number: int, body: pa.Buffer, kind: str, sender: str) -> None:
        """Waits for room: the readers' pace is the batch's."""
        began, look_s = time.monotonic(), 0.0005
        while True:
            try:
                origin.send(number, body, kind, sender, 0)
                return
            except Full as error:
                if self._timeout is not None and time.monotonic() - began > self._timeout:
                    hint = "`slipring info` shows who holds it; started again, the query goes on"
                    problem = f"no room on topic {origin.topic!r} within timeout={self._timeout:g} s"
                    raise Full(f"{problem}; {hint}", argument="timeout") from error
            if os.getppid() != self._parent:
                raise PeerGone(
                    "Spark is gone: the rest of the batch is published when the query starts again"
                )
            time.sleep(look_s)
            look_s = min(look_s * 2, _LONGEST_LOOK_S)
