# SPDX-License-Identifier: Apache-2.0
"""Where cells are. Their API (cells.py, cells_ends.py) is the same over shared memory, which is here, and over
what a stepped bus has instead (slipring.testing): a store makes them, and gives their two ends.
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
        """All cells."""
        ...


class WriterEnd(End, Protocol):
    def begin(self) -> int:
        """The number of the cell to be filled."""
        ...

    def commit(self) -> int: ...
    def put(self, value: Buffer, /) -> int: ...
    def slot(self) -> Any:
        """The cell to be filled as memory; one at a time."""
        ...

    def end_slot(self, region: Any, strict: bool, /) -> bool:
        """False if, strictly, buffers of it are in use."""
        ...


class ReaderEnd(End, Protocol):
    def borrow(self) -> Buffer:
        """All cells; nothing is taken until it is gone."""
        ...

    def take(self) -> list[int]:
        """The numbers of the cells taken, oldest element first."""
        ...

    def take_newest(self) -> int:
        """-1 if there is nothing new."""
        ...

    def counts(self) -> tuple[int, int, int, int]: ...
    def wait(self, timeout: float | None, /) -> bool: ...


class CellsStore(Protocol):
    def create(self, name: str, size: int, depth: int, mode: int, format: str, exist_ok: bool) -> None:
        """0: not given. What is given must match what exists; without a size nothing is made."""
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
