# SPDX-License-Identifier: Apache-2.0
"""The two ends of a stepped bus's cells, below `CellsWriter` and `CellsReader`.

Memory is copied, not shared: a slot is copied into its cell when it is put, and borrowed elements are copies. Arrays
that outlive them could not change an element, but they are refused as in shared memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slipring._bus.python_handle import body_bytes
from slipring._bus.settings import timeout_s
from slipring.errors import BadArgument, TooLarge

from ..ports.handle import Handle
from ..ports.lent_memory import Region, lend, show
from .cells import SteppedCells

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ..simulation import Simulation


class _End(Handle):
    def __init__(self, simulation: Simulation, cells: SteppedCells) -> None:
        self.topic = cells.name
        super().__init__(simulation)
        self._cells = cells
        self._end_entry = cells.attach(self.kind, self._number)
        self._lent = 0  # regions in use: while there are any, the end keeps its entry
        self._begin()

    def shape(self) -> tuple[int, int, int, int]:
        cells = self._cells
        return cells.size, cells.stride, cells.depth, cells.count

    def _enter(self) -> SteppedCells:
        self._check_open()
        self._cells.check()
        return self._cells

    def _given_back(self, number: int) -> None:
        self._lent -= 1
        if self.closed and not self._lent and self._end_entry.alive:
            self._cells.detach(self.kind, self._end_entry, orderly=True)

    def _detach(self, *, orderly: bool) -> None:
        if not orderly or not self._lent:
            self._cells.detach(self.kind, self._end_entry, orderly=orderly)


class SteppedCellsWriter(_End):
    kind = "writer"

    def __init__(self, simulation: Simulation, cells: SteppedCells) -> None:
        super().__init__(simulation, cells)
        self._slot = 0  # the number of the open one
        self._slots = 0

    def region(self) -> Buffer:
        return self._enter().memory

    def begin(self) -> int:
        cells = self._enter()
        if self._slot:
            raise BufferError(
                "this writer's last slot is still in use: leave its block and delete slices and arrays of it, "
                "which could change the element"
            )
        return cells.own

    def commit(self) -> int:
        cells = self._enter()
        self._pass_point("filled")
        seq = cells.put()
        self._simulation.note(f"put {self.topic} {seq} by {self._label()}")
        self._simulation.settled(cells)
        self._pass_point("put")
        return seq

    def put(self, value: Buffer, /) -> int:
        cell, content, size = self.begin(), body_bytes(value), self._cells.size
        if len(content) > size:
            raise TooLarge(f"value has {len(content)} bytes; an element has {size}", argument="value")
        if len(content) < size:
            text = f"value has {len(content)} bytes; an element has exactly {size}"
            raise BadArgument(text, argument="value")
        self._cells.cell(cell)[:] = content
        return self.commit()

    def slot(self) -> Region:
        self.begin()
        self._slots += 1
        self._slot = self._slots
        number = self._slot
        self._lent += 1
        return lend(self._cells.size, lambda: self._given_back(number))

    def end_slot(self, region: Region, strict: bool, /) -> bool:
        if strict and region.in_use(references=2):  # the slot's, and this call's
            return False
        self._slot = 0
        self._cells.cell(self._cells.own)[:] = region
        return True

    def _given_back(self, number: int) -> None:
        if self._slot == number:
            self._slot = 0  # every way to write into it is gone
        super()._given_back(number)


class SteppedCellsReader(_End):
    kind = "reader"

    def __init__(self, simulation: Simulation, cells: SteppedCells) -> None:
        self._before = (cells.received, cells.position, cells.skipped)
        self._last_counts = (0, 0, 0, 0)
        super().__init__(simulation, cells)

    def region(self) -> Buffer:
        return memoryview(self._enter().memory).toreadonly()

    def borrow(self) -> Buffer:
        cells = self._enter()
        self._lent += 1
        return show(cells.memory, lambda: self._given_back(0))

    def take(self) -> list[int]:
        return self._take(newest_only=False)

    def take_newest(self) -> int:
        taken = self._take(newest_only=True)
        return taken[0] if taken else -1

    def _take(self, *, newest_only: bool) -> list[int]:
        cells = self._enter()
        # defect stepped_cells_in_use_given_away: if False:
        if self._lent:
            raise BufferError(
                "elements of the last snapshot are still in use in place: delete them, or read copies (copy=True)"
            )
        taken, skipped = cells.take(newest_only)
        if taken:
            self._simulation.note(f"take {self.topic} up to {cells.position - 1} by {self._label()}")
            # defect stepped_taken_counted_early: cells.received += len(taken)
            #     self._pass_point("taken")
            #     cells.received -= len(taken)
            self._pass_point("taken")  # elements taken and never returned count as lost
            cells.received += len(taken)
            cells.skipped += skipped
        return taken

    def counts(self) -> tuple[int, int, int, int]:
        if self.closed:
            return self._last_counts
        cells, (received, position, skipped) = self._cells, self._before
        own, passed = cells.received - received, cells.skipped - skipped
        return own, cells.position - position - own - passed, passed, cells.position

    def wait(self, timeout: float | None, /) -> bool:
        seconds = timeout_s(timeout)

        def found() -> bool:
            return self._enter().has_new

        if found():
            return True
        return seconds != 0 and self._simulation.scheduler.block(
            found, seconds, f"wait on cells '{self.topic}'"
        )

    def _end(self, state: str) -> None:
        self._last_counts = self.counts()
        super()._end(state)

    def _detach(self, *, orderly: bool) -> None:
        super()._detach(orderly=orderly)
        self._cells.land()
