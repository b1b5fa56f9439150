# SPDX-License-Identifier: Apache-2.0
"""The two ends of cells: one writer, one reader."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ..closing import Closing, Unpicklable
from ..fork_locks import give_lock
from .elements import BytesElements, BytesSlot, Elements
from .numpy_elements import NumpySlot
from .store import End, ReaderEnd, WriterEnd


class _OneEnd(Closing):
    """Base of both ends. Threads take turns."""

    __slots__ = ("__weakref__", "_elements", "_end", "_lock", "_memory", "name")
    _end: End

    def __init__(self, name: str, elements: Elements) -> None:
        self.name = name
        self._elements = elements
        self._lock: Any
        give_lock(self)
        self._memory: Any = None

    def close(self) -> None:
        """Detach: another process may have this end then. Waits end with Closed."""
        self._end.close()
        with self._lock:
            self._memory = None

    def _forget_inherited(self) -> None:
        """Do nothing: each use asks the core first."""

    @property
    def closed(self) -> bool:
        return self._end.closed

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}{' closed' if self.closed else ''}>"


class CellsWriter(_OneEnd):
    """Puts elements; never waits for the reader. Made by `Cells.writer`."""

    __slots__ = ()
    _end: WriterEnd

    def __init__(self, end: WriterEnd, name: str, elements: Elements) -> None:
        super().__init__(name, elements)
        self._end = end
        if not isinstance(elements, BytesElements):  # those are put by the compiled part
            self._memory = elements.over(end.region(), end.shape()[1])

    def put(self, value: Any) -> int:
        """Make value the newest element; return its sequence."""
        with self._lock:
            if self._memory is None:
                return self._end.put(value)
            self._memory.set(self._end.begin(), value)
            return self._end.commit()

    def slot(self) -> Slot:
        """Return a context manager: the next element, to be filled in place. An exception discards it."""
        return Slot(self)


class Slot(Unpicklable):
    """`with writer.slot() as view`: an array (a memoryview, of bytes cells) of the cell being filled."""

    __slots__ = ("_region", "_slot", "_writer", "seq")

    def __init__(self, writer: CellsWriter) -> None:
        self._writer = writer
        self._region: Any = None
        self._slot: BytesSlot | NumpySlot | None = None
        self.seq: int | None = None  # once put

    def __enter__(self) -> Any:
        with self._writer._lock:
            self._region = self._writer._end.slot()
        self._slot = self._writer._elements.open_slot(self._region)
        return self._slot.view

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        slot, region = self._slot, self._region
        self._slot = self._region = None
        if slot is None or region is None:
            return
        free = slot.take_back()
        with self._writer._lock:
            if not free or not self._writer._end.end_slot(region, slot.strict):
                if kind is not None:
                    return  # blocked until they are gone
                raise BufferError(
                    "nothing was put: slices or arrays of the slot are still in use and could change the "
                    "element; delete them before the block ends"
                )
            if kind is None:
                self.seq = self._writer._end.commit()


class CellsReader(_OneEnd):
    """Takes elements, each once; never waits for the writer. Made by `Cells.reader`."""

    __slots__ = ("_last", "_stride")
    _end: ReaderEnd

    def __init__(self, end: ReaderEnd, name: str, elements: Elements) -> None:
        super().__init__(name, elements)
        self._end = end
        self._stride = end.shape()[1]
        self._memory = elements.over(end.region(), self._stride)
        self._last: Any = None  # the cell of the newest element taken: ours until a newer one is

    def snapshot(self, copy: bool = True) -> list[Any]:
        """Return the newest elements not taken before, at most depth of them, oldest first.

        They are copies. With copy=False they are read-only views in place: the writer does not change them, and
        nothing more can be taken until they are gone.
        """
        with self._lock:
            cells = self._end.take()
            if not cells:
                return []
            self._last = cells[-1]
            return self._memory.get(cells) if copy else self._borrowed(cells)

    def latest(self, default: Any = None, *, again: bool = False, copy: bool = True) -> Any:
        """Return the newest element if it was not taken before, else default; older ones are skipped.

        again=True returns the newest element taken so far instead of default, while there is one.
        """
        with self._lock:
            cell = self._end.take_newest()
            if cell >= 0:
                self._last = cell
            elif not again or self._last is None:
                return default
            return self._memory.get_one(self._last) if copy else self._borrowed([self._last])[0]

    def _borrowed(self, cells: list[int]) -> list[Any]:
        return self._elements.over(self._end.borrow(), self._stride).in_place(cells)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until there is an element to take; return False after timeout."""
        return self._end.wait(timeout)

    @property
    def received(self) -> int:
        """Elements taken by this reader."""
        return self._end.counts()[0]

    @property
    def lost(self) -> int:
        """Elements overwritten before this reader took them, exactly, or taken by a reader that was killed."""
        return self._end.counts()[1]

    @property
    def skipped(self) -> int:
        """Elements that `latest` passed over for a newer one."""
        return self._end.counts()[2]

    @property
    def position(self) -> int:
        """The sequence after the newest element taken: received + lost + skipped, over all readers' lives."""
        return self._end.counts()[3]
