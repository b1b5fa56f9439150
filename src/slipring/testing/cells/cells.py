# SPDX-License-Identifier: Apache-2.0
"""Cells of a stepped bus: their memory, the owner of each cell, and the counts.

There are 2n+1 cells, as in shared memory: one belongs to the writer, up to n hold the newest elements, up to n belong
to the reader until it takes again. An element is in flight from its put until its delivery. The delivery gives it a
cell; the oldest of n other elements then loses its own. Without a reader elements arrive at once.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass
from typing import Any

from slipring.errors import Busy, TopicGone

_LINE = 64  # a cell begins on a cache line, as in shared memory


@dataclass(slots=True, eq=False)
class EndEntry:
    """The entry of the writer or the reader. That of a killed one stays until it is replaced or cleared."""

    cells: SteppedCells
    number: int
    label: str
    alive: bool = True
    losing: int = 0

    def next_delivery(self) -> int | None:
        return self.cells.next_delivery()

    def deliver(self, seq: int) -> bool:
        """False if the element is lost on its way."""
        lost = self.losing > 0
        self.losing -= lost
        self.cells.deliver(lost=lost)
        return not lost

    def lap(self, keep: int) -> int:
        return self.cells.drop(keep)


class SteppedCells:
    def __init__(
        self, name: str, size: int, depth: int, mode: int, format: str, generation: int, created_ns: int
    ) -> None:
        self.name, self.size, self.depth, self.mode, self.format = name, size, depth, mode, format
        self.generation, self.created_ns = generation, created_ns
        self.count = 2 * depth + 1
        self.stride = -(-size // _LINE) * _LINE
        self.memory = bytearray(self.count * self.stride)
        self.own = 0  # the writer's
        self.gone = False
        self.entries: dict[str, EndEntry] = {}  # "writer", "reader"
        self.position = self.received = self.skipped = 0  # over all readers' lives
        self._free = list(range(1, self.count))
        self._arrived: dict[int, int] = {}  # elements not taken, by sequence: their cells
        self._held: list[int] = []  # cells that the reader took last
        self._flying: deque[bytes] = deque()
        self._tail = 0  # the sequence that arrives next

    @property
    def puts(self) -> int:
        return self._tail + len(self._flying)

    @property
    def readers(self) -> list[EndEntry]:
        """The reader that elements are delivered to, if there is one."""
        return [entry for kind, entry in self.entries.items() if kind == "reader" and entry.alive]

    def check(self) -> None:
        if self.gone:
            raise TopicGone("the cells were removed", argument="topic")

    def cell(self, number: int) -> memoryview:
        return memoryview(self.memory)[number * self.stride : number * self.stride + self.size]

    # Elements

    def put(self) -> int:
        """Put the content of the writer's own cell. Return its sequence."""
        self._flying.append(bytes(self.cell(self.own)))
        # defect stepped_cells_before_delivery: self.land()
        if not self.readers:
            self.land()
        return self.puts - 1

    def land(self) -> None:
        """Deliver everything in flight: there is no reader."""
        while self._flying:
            self.deliver(lost=False)

    def next_delivery(self) -> int | None:
        return self._tail if self._flying else None

    def deliver(self, *, lost: bool) -> None:
        """Store the next element, instead of the oldest when there are n. A lost one is not stored."""
        value = self._flying.popleft()
        if not lost:
            oldest = min(self._arrived, default=0)
            if len(self._arrived) >= self.depth:
                self._free.append(self._arrived.pop(oldest))
            number = self._free.pop()
            self.cell(number)[:] = value
            self._arrived[self._tail] = number
        self._tail += 1

    def drop(self, keep: int) -> int:
        """Overwrite all untaken elements except the newest `keep`. Return how many."""
        self.land()
        gone = sorted(self._arrived)[: max(0, len(self._arrived) - keep)]
        self._free += [self._arrived.pop(seq) for seq in gone]
        return len(gone)

    def take(self, newest_only: bool) -> tuple[list[int], int]:
        """Take all new elements. Return their cells, oldest first, and how many were passed over."""
        seqs = sorted(self._arrived)
        taken = seqs[-1:] if newest_only else seqs
        if taken:
            self._free += self._held
            self._held = [self._arrived[seq] for seq in taken]
            self._free += [self._arrived[seq] for seq in seqs[: len(seqs) - len(taken)]]
            self._arrived.clear()
        self.position = self._tail
        return (self._held[:] if taken else []), len(seqs) - len(taken)

    @property
    def has_new(self) -> bool:
        return bool(self._arrived)

    # Ends

    def attach(self, kind: str, number: int) -> EndEntry:
        there = self.entries.get(kind)
        # defect stepped_second_end_accepted: if False:
        if there is not None and there.alive:
            raise Busy(f"cells '{self.name}' already have a live {kind}", argument="topic")
        entry = self.entries[kind] = EndEntry(self, number, f"{kind[0]}{number}")
        return entry

    def detach(self, kind: str, entry: EndEntry, *, orderly: bool) -> None:
        """The entry of a killed one stays."""
        entry.alive = False
        if orderly and self.entries.get(kind) is entry:
            del self.entries[kind]

    def dead(self) -> int:
        return sum(not entry.alive for entry in self.entries.values())

    def sweep(self, now_ns: int) -> None:
        """Remove the entries of killed handles."""
        self.entries = {kind: entry for kind, entry in self.entries.items() if entry.alive}

    def _rows(self, kind: str) -> list[dict[str, Any]]:
        entry = self.entries.get(kind)
        return [] if entry is None else [{"pid": os.getpid(), "alive": entry.alive}]

    def stats(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "size": self.size,
            "depth": self.depth,
            "cells": self.count,
            "mode": self.mode,
            "generation": self.generation,
            "created_ns": self.created_ns,
            "creator_pid": os.getpid(),
            "file_bytes": 0,
            "puts": self.puts,
            "position": self.position,
            "lag": self.puts - self.position,
            "received": self.received,
            "lost": self.position - self.received - self.skipped,
            "skipped": self.skipped,
            "writers": self._rows("writer"),
            "readers": self._rows("reader"),
        }
