# SPDX-License-Identifier: Apache-2.0
"""The elements of cells: plain bytes of a fixed size, or numpy values of a dtype and shape (numpy_elements.py).

An element kind has a `size` and a `format`: JSON text, stored in the file, which means the same to every process.
`over(region, stride)` returns the cells as memory, to set and get elements by the number of their cell;
`open_slot(region)` one cell to be filled in place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument, Corrupt

from ..settings import positive
from . import dtypes
from .numpy_elements import NumpyElements, import_numpy

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


Elements = BytesElements | NumpyElements


def describe(dtype: Any, shape: Any, size: Any) -> Elements | None:
    """Return the elements that the arguments describe; None if they leave it to existing cells."""
    if size is not None:
        if dtype is not None or shape is not None:
            raise BadArgument("size is for cells of plain bytes: leave out dtype and shape", argument="size")
        return BytesElements(positive("size", size))
    if dtype is None:
        if shape is not None:
            raise BadArgument("shape belongs to a dtype: give dtype= too", argument="shape")
        return None
    dimensions = () if shape is None else shape if isinstance(shape, Sequence) else (shape,)
    checked = [positive("shape", dimension) for dimension in dimensions]
    return NumpyElements(dtypes.parse(dtype, import_numpy()), checked)


def from_format(text: str, size: int) -> Elements:
    """Return the elements that the format in a file describes; it must agree with their size."""
    elements: Elements
    try:
        described = json.loads(text)
        if "bytes" in described:
            elements = BytesElements(positive("bytes", described["bytes"]))
        else:
            import_numpy()
            dtype = dtypes.from_description(described["dtype"])
            if not isinstance(described["shape"], list):
                raise TypeError("shape is not a list")
            elements = NumpyElements(
                dtype, [positive("shape", dimension) for dimension in described["shape"]]
            )
    except dtypes.NOT_UNDERSTOOD as error:
        raise Corrupt(
            f"the cells' format {text[:80]!r} is not understood: {error}", argument="topic"
        ) from error
    if elements.size != size:
        raise Corrupt(f"the cells' format {text[:80]!r} contradicts their size, {size}", argument="topic")
    return elements
