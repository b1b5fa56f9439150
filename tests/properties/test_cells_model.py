# SPDX-License-Identifier: Apache-2.0
"""Any order of puts, takes and restarts on cells of any depth, against a list and a few counters."""

import tempfile

import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import slipring
from slipring.testing import SteppedBus
from support import leaks

COUNT = strategies.integers(0, 12)


class CellsMachine(RuleBasedStateMachine):
    """The model: everything put, the next sequence to be taken, and what was received, lost and skipped."""

    @initialize(depth=strategies.integers(1, 6), numpy=strategies.booleans())
    def begin(self, depth: int, numpy: bool) -> None:
        self.bus = self.open_bus()
        self.cells = self.bus.cells("c", depth=depth, **({"dtype": "u8"} if numpy else {"size": 8}))
        self.encode = int if numpy else lambda number: number.to_bytes(8, "little")
        self.decode = int if numpy else lambda value: int.from_bytes(value, "little")
        self.depth, self.put_count, self.position = depth, 0, 0
        self.received = self.lost = self.skipped = 0
        self.writer, self.reader = self.cells.writer(), self.cells.reader()
        self.held: list = []

    def open_bus(self):
        self.folder = tempfile.TemporaryDirectory(prefix=leaks.SESSION_PREFIX, dir=leaks.SHM)
        return slipring.Bus("test", root=self.folder.name)

    def fill(self, view, number: int) -> None:
        view[... if self.cells.dtype else slice(None)] = self.encode(number)

    @rule(count=COUNT, in_place=strategies.booleans())
    def put(self, count: int, in_place: bool) -> None:
        for _ in range(count):
            if in_place:
                with self.writer.slot() as view:
                    self.fill(view, self.put_count)
            else:
                assert self.writer.put(self.encode(self.put_count)) == self.put_count
            self.put_count += 1

    @rule()
    def abort(self) -> None:
        with pytest.raises(ZeroDivisionError), self.writer.slot() as view:
            self.fill(view, 2**63)
            raise ZeroDivisionError

    @rule(copy=strategies.booleans())
    def snapshot(self, copy: bool) -> None:
        self.held = []
        oldest = max(self.position, self.put_count - self.depth)
        taken = self.reader.snapshot(copy=copy)
        assert list(map(self.decode, taken)) == list(range(oldest, self.put_count))
        self.lost += oldest - self.position
        self.received += len(taken)
        self.position = self.put_count
        self.held = list(zip(taken, range(oldest, self.put_count), strict=True))

    @rule(again=strategies.booleans())
    def latest(self, again: bool) -> None:
        self.held = []
        value = self.reader.latest(again=again)
        if self.position == self.put_count:
            assert value is None or (again and self.decode(value) == self.put_count - 1)
            return
        assert self.decode(value) == self.put_count - 1
        passed = self.put_count - 1 - self.position
        self.skipped += min(passed, self.depth - 1)
        self.lost += max(0, passed - (self.depth - 1))
        self.received += 1
        self.position = self.put_count
        self.held = [(value, self.put_count - 1)]

    @rule(which=strategies.sampled_from(["writer", "reader"]))
    def restart(self, which: str) -> None:
        self.held = []
        getattr(self, which).close()
        setattr(self, which, getattr(self.cells, which)())

    @precondition(lambda self: hasattr(self, "reader"))
    @invariant()
    def accounts_agree(self) -> None:
        assert [self.decode(value) for value, _ in self.held] == [number for _, number in self.held]
        stats = self.cells.stats()
        found = (stats["puts"], stats["position"], stats["received"], stats["lost"], stats["skipped"])
        assert found == (self.put_count, self.position, self.received, self.lost, self.skipped)
        assert self.reader.wait(0) == (self.put_count > self.position)

    def teardown(self) -> None:
        if hasattr(self, "bus"):
            self.held = []
            self.bus.close()
        if hasattr(self, "folder"):
            self.folder.cleanup()


class SteppedCellsMachine(CellsMachine):
    """The same on a bus for tests."""

    def open_bus(self):
        return SteppedBus(automatic=True)


TestCells = CellsMachine.TestCase
TestSteppedCells = SteppedCellsMachine.TestCase
for _case in (TestCells, TestSteppedCells):
    _case.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
