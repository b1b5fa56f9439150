# SPDX-License-Identifier: Apache-2.0
"""numpy arrays in arguments and values of codec "msgpack": extension type 1, docs/spec/calls.md section 6.

u8   bytes of the dtype's text     the text, as numpy's dtype.str: "<f8"
u8   number of dimensions          u64 little-endian for each
the elements, in C order
"""

from __future__ import annotations

import math
import re
import sys
from struct import Struct, unpack_from
from struct import error as struct_error
from typing import Any, Final

EXTENSION: Final = 1
_MOST_DIMENSIONS = 32
_DTYPE = re.compile(r"[<>|]([biufcSU][1-9]\d{0,8}|[mM]8(\[\d{0,9}[A-Za-z]{1,2}\])?)", re.ASCII)
_COUNT = Struct("<B")


def is_array(value: object) -> bool:
    numpy: Any = sys.modules.get("numpy")  # where it is not imported, nothing is an array
    return numpy is not None and isinstance(value, numpy.ndarray)


def number(value: object) -> Any:
    """Return a numpy scalar as a number of Python; TypeError for everything else."""
    numpy: Any = sys.modules.get("numpy")
    found = value.item() if numpy is not None and isinstance(value, numpy.generic) else value
    if found is value or isinstance(found, numpy.generic):  # the second: Python has no type for it
        raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")
    return found


def encode(array: Any) -> bytes:
    text = array.dtype.str
    if not _DTYPE.fullmatch(text):
        raise TypeError(
            f"arrays of dtype {array.dtype} cannot be sent: numbers, times and text of fixed width can"
        )
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(array, masked.MaskedArray):
        raise TypeError("a masked array cannot be sent: send array.filled() and array.mask")
    if array.ndim > _MOST_DIMENSIONS:
        raise TypeError(f"arrays of {array.ndim} dimensions cannot be sent: at most {_MOST_DIMENSIONS}")
    shape = Struct(f"<B{array.ndim}Q").pack(array.ndim, *array.shape)
    return b"".join((_COUNT.pack(len(text)), text.encode(), shape, array.tobytes()))


def decode(data: memoryview) -> Any:
    """Return a writable copy; ValueError if the bytes are not an array."""
    try:
        import numpy
    except ImportError as error:
        raise ImportError('an array in a call needs numpy: pip install "slipring[numpy]"') from error
    dtype, shape, at = _head(bytes(data[:600]))
    kind = numpy.dtype(dtype)
    if kind.itemsize * math.prod(shape) != len(data) - at:
        raise ValueError(f"an array of {dtype} and shape {shape} does not have {len(data) - at} bytes")
    return (
        numpy.frombuffer(data[at:], kind).reshape(shape).copy()
        if len(data) > at
        else numpy.empty(shape, kind)
    )


def _head(front: bytes) -> tuple[str, tuple[int, ...], int]:
    """Return dtype, shape, and the offset of the elements."""
    try:
        size = front[0]
        text, dimensions = front[1 : 1 + size].decode("ascii"), front[1 + size]
        if not _DTYPE.fullmatch(text) or dimensions > _MOST_DIMENSIONS:
            raise ValueError(f"an array of dtype {text!r} with {dimensions} dimensions is not supported")
        shape = unpack_from(f"<{dimensions}Q", front, 2 + size)
    except (IndexError, struct_error):
        raise ValueError("an array is shorter than its head") from None
    return text, shape, 2 + size + 8 * dimensions
