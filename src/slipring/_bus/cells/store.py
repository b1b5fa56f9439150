# SPDX-License-Identifier: Apache-2.0
"""The store of cells: it creates them and returns their two ends.

The API of cells (cells/cells.py, cells/ends.py) is the same over the store of shared memory, which is here, and that of
a stepped bus (slipring.testing).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ..native import _native

if TYPE_CHECKING:
    from typing_extensions import Buffer

    Shape = tuple[int, int, int, int]  # bytes of an element, bytes from cell to cell, depth, cells


class End(Protocol):
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def shape(self) -> Shape: ...
    def region(self) -> Buffer:
        """Return the memory of all cells."""
        ...


class WriterEnd(End, Protocol):
    def begin(self) -> int:
        """Return the number of the cell to be filled."""
        ...

    def commit(self) -> int: ...
    def put(self, value: Buffer, /) -> int: ...
    def slot(self) -> Any:
        """Return the cell to be filled as memory; one at a time."""
        ...

    def end_slot(self, region: Any, strict: bool, /) -> bool:
        """Return False if strict and buffers of it are still in use."""
        ...


class ReaderEnd(End, Protocol):
    def borrow(self) -> Buffer:
        """Return the memory of all cells; nothing can be taken until it is freed."""
        ...

    def take(self) -> list[int]:
        """Return the numbers of the cells taken, oldest element first."""
        ...

    def take_newest(self) -> int:
        """Return the number of the newest cell, or -1 if there is nothing new."""
        ...

    def counts(self) -> tuple[int, int, int, int]: ...
    def wait(self, timeout: float | None, /) -> bool: ...


class CellsStore(Protocol):
    def create(self, name: str, size: int, depth: int, mode: int, format: str, exist_ok: bool) -> None:
        """Create cells, or check that existing ones match; 0 means "not given". Without a size, create nothing."""
        ...

    def stats(self, name: str) -> dict[str, Any]: ...
    def writer(self, name: str) -> WriterEnd: ...
    def reader(self, name: str) -> ReaderEnd: ...


class SharedCells:
    """The cells of one bus directory."""

    def __init__(self, path: str, make_directory: Callable[[], None]) -> None:
        self._path = path
        self._make_directory = make_directory

    def create(self, name: str, size: int, depth: int, mode: int, format: str, exist_ok: bool) -> None:
        if size:
            self._make_directory()
        _native.cells_create(self._path, name, size, depth, mode, format, exist_ok)

    def stats(self, name: str) -> dict[str, Any]:
        return _native.cells_stats(self._path, name)

    def writer(self, name: str) -> WriterEnd:
        return _native.CellsWriter(self._path, name)

    def reader(self, name: str) -> ReaderEnd:
        return _native.CellsReader(self._path, name)


def with_kind(name: str, found: dict[str, Any]) -> dict[str, Any]:
    return {"topic": name, "kind": "cells", **found}


def stats(path: str, name: str) -> dict[str, Any]:
    return with_kind(name, _native.cells_stats(path, name))
