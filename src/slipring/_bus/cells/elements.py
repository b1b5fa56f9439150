# SPDX-License-Identifier: Apache-2.0
"""What a cell holds: fixed-size bytes, or numpy values of a dtype and shape.

An element kind knows its `size` and its `format`: JSON text, stored in the file, which says the same to
every process. `over(region, stride)` gives the cells as memory, to set and get elements by the number of
their cell; `open_slot(region)` one cell to be filled in place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from slipring.errors import BadArgument, Corrupt

from ..settings import positive
from . import dtypes
from .elements_bytes import BytesElements
from .elements_numpy import NumpyElements, import_numpy

Elements = BytesElements | NumpyElements
_NOT_UNDERSTOOD = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
    RecursionError,
    MemoryError,
)


def describe(dtype: Any, shape: Any, size: Any) -> Elements | None:
    """What the arguments ask for; None if they leave it to what is there."""
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


def _tuples(described: Any) -> Any:
    """JSON knows no tuples: fields, and shapes within them."""
    if not isinstance(described, list):
        return described
    return [(_name(field[0]), _tuples(field[1]), *map(tuple, field[2:])) for field in described]


def _name(name: Any) -> Any:
    return tuple(name) if isinstance(name, list) else name  # (title, name)


def from_format(text: str, size: int) -> Elements:
    """What the text in a file says; it must agree with the size of its elements."""
    elements: Elements
    try:
        told = json.loads(text)
        if "bytes" in told:
            elements = BytesElements(positive("bytes", told["bytes"]))
        else:
            dtype = import_numpy().lib.format.descr_to_dtype(_tuples(told["dtype"]))
            if not isinstance(told["shape"], list):
                raise TypeError("shape is no list")
            elements = NumpyElements(dtype, [positive("shape", dimension) for dimension in told["shape"]])
    except _NOT_UNDERSTOOD as error:
        raise Corrupt(
            f"the cells' format {text[:80]!r} is not understood: {error}", argument="topic"
        ) from error
    if elements.size != size:
        raise Corrupt(f"the cells' format {text[:80]!r} contradicts their size, {size}", argument="topic")
    return elements
