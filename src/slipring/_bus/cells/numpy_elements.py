# SPDX-License-Identifier: Apache-2.0
"""Elements of cells that are numpy values. numpy is imported at the first use."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument

from . import dtypes

if TYPE_CHECKING:
    from typing_extensions import Buffer as Region  # the memory of cells


LARGEST = 1 << 32  # bytes of an element: the limit of the core


def import_numpy() -> Any:
    return dtypes.numpy("a cell's dtype", ", or give size= for plain bytes")


class NumpyElements:
    """Values of a numpy dtype, each of the given shape."""

    def __init__(self, dtype: Any, shape: Sequence[int]) -> None:
        import_numpy()
        base, inner = dtype.subdtype or (dtype, ())
        self.dtype: Any = base
        self.shape = (*shape, *inner)
        self.size = base.itemsize * math.prod(self.shape)
        # defect cells_hold_objects: if False:
        if base.hasobject:
            raise BadArgument(f"dtype={dtype} holds Python objects: cells hold plain data", argument="dtype")
        if self.size > LARGEST:
            raise BadArgument(
                f"dtype={dtype}, shape={self.shape}: an element of {self.size} bytes is too large: at most {LARGEST}",
                argument="shape",
            )
        if self.size == 0:
            raise BadArgument(f"dtype={dtype}, shape={self.shape}: an element has no bytes", argument="dtype")
        described = {"dtype": dtypes.description(base), "shape": self.shape}
        self.format = json.dumps(described, separators=(",", ":"))

    def over(self, region: Region, stride: int) -> NumpyMemory:
        return NumpyMemory(self, region, stride)

    def open_slot(self, region: Region) -> NumpySlot:
        return NumpySlot(self, region)

    def __str__(self) -> str:
        return f"{self.dtype}, shape {self.shape}"


# Python types that numpy stores in elements of a kind without stretching, cutting or reinterpreting anything.
_PLAIN: dict[str, set[type]] = {
    "f": {float, int},
    "c": {complex, float, int},
    "i": {int},
    "u": {int},
    "b": {bool},
}


class NumpyMemory:
    def __init__(self, elements: NumpyElements, region: Region, stride: int) -> None:
        numpy = import_numpy()
        self._numpy, self._elements = numpy, elements
        shape, inner = elements.shape, elements.dtype.itemsize
        self._plain: set[type] = set() if shape else _PLAIN.get(elements.dtype.kind, set())
        strides = [inner * math.prod(shape[place + 1 :]) for place in range(len(shape))]
        with memoryview(region) as view:
            count = view.nbytes // stride
        self._cells = numpy.ndarray((count, *shape), elements.dtype, region, 0, (stride, *strides))

    def _check(self, value: Any) -> Any:
        """Refuse a value that numpy would stretch, cut or reinterpret."""
        wanted, kind = self._elements, self._elements.dtype.kind
        given = value if hasattr(value, "dtype") or not wanted.shape else self._numpy.asarray(value)
        if hasattr(given, "dtype"):
            if given.shape != wanted.shape:
                raise BadArgument(
                    f"the value has shape {given.shape}, elements have {wanted.shape}", argument="value"
                )
            fits = (
                given.dtype == wanted.dtype
                if kind == "V"
                else given.dtype.kind not in "fc" or kind not in "iub"
            )
            if given is value and kind != "V":
                fits = self._numpy.can_cast(given.dtype, wanted.dtype, "same_kind")
            if not fits:
                raise BadArgument(
                    f"the value has dtype {given.dtype}, elements have {wanted.dtype}", argument="value"
                )
            if kind != "V":
                dtypes.refuse_cuts(self._numpy, given, wanted.dtype, "value")
        elif isinstance(given, float) and kind in "iub":
            raise BadArgument(f"the value is a float, elements are {wanted.dtype}", argument="value")
        return given

    def set(self, cell: int, value: Any) -> None:
        try:
            self._cells[cell] = value if type(value) in self._plain else self._check(value)
        except BadArgument:
            raise
        except (ValueError, TypeError, OverflowError) as error:
            text = f"the value does not fit elements of {self._elements}: {error}"
            raise BadArgument(text, argument="value") from error

    def get(self, cells: list[int]) -> list[Any]:
        return list(self._cells[cells])

    def get_one(self, cell: int) -> Any:
        value = self._cells[cell]
        plain = not self._elements.shape and self._elements.dtype.kind != "V"
        return value if plain else value.copy()

    def in_place(self, cells: list[int]) -> list[Any]:
        shape = self._elements.shape
        return [self._cells[cell : cell + 1].reshape(shape) for cell in cells]


class NumpySlot:
    """An array of the cell being filled. It may outlive the block, read-only; slices of it may not."""

    strict = False

    def __init__(self, elements: NumpyElements, region: Region) -> None:
        self._root = import_numpy().ndarray(elements.shape, elements.dtype, buffer=region)
        self.view = self._root.view()  # slices of it refer to the root: counting its references finds them
        self._references = sys.getrefcount(self._root)

    def take_back(self) -> bool:
        self.view.flags.writeable = False
        # defect slot_put_with_live_slices: return True
        return sys.getrefcount(self._root) <= self._references
