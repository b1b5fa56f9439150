# SPDX-License-Identifier: Apache-2.0
"""Cells of plain bytes: no numpy needed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer as Region  # the memory of cells


class BytesElements:
    """Exactly `size` bytes."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.format = json.dumps({"bytes": size})
        self.dtype = None
        self.shape = ()

    def over(self, region: Region, stride: int) -> BytesMemory:
        return BytesMemory(self.size, region, stride)

    def open_slot(self, region: Region) -> BytesSlot:
        return BytesSlot(region)

    def __str__(self) -> str:
        return f"{self.size} bytes"


class BytesMemory:
    def __init__(self, size: int, region: Region, stride: int) -> None:
        self._size, self._stride = size, stride
        self._view = memoryview(region)

    def _slice(self, cell: int) -> memoryview:
        return self._view[cell * self._stride : cell * self._stride + self._size]

    def get(self, cells: list[int]) -> list[bytes]:
        return [bytes(self._slice(cell)) for cell in cells]

    def get_one(self, cell: int) -> bytes:
        return bytes(self._slice(cell))

    def in_place(self, cells: list[int]) -> list[memoryview]:
        return [self._slice(cell) for cell in cells]


class BytesSlot:
    """A memoryview of the cell being filled; its slices must be gone when the block ends."""

    strict = True

    def __init__(self, region: Region) -> None:
        self.view = memoryview(region)

    def take_back(self) -> bool:
        try:
            self.view.release()
        except BufferError:
            return False
        return True
