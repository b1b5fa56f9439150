# SPDX-License-Identifier: Apache-2.0
"""numpy, imported when it is needed, and dtypes as the text that is kept in shared memory."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import Any

from slipring.errors import BadArgument, Corrupt


def numpy(what: str, instead: str = "") -> ModuleType:
    """The module; `what` needs it, unless one does something instead."""
    try:
        import numpy
    except ImportError as error:
        raise ImportError(f'{what} needs numpy: pip install "slipring[numpy]"{instead}') from error
    return numpy


def parse(dtype: Any, module: ModuleType) -> Any:
    """The dtype that somebody means; one of Python objects is refused."""
    try:
        chosen = module.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as error:
        raise BadArgument(f"dtype={dtype!r} is no numpy dtype: {error}", argument="dtype") from None
    if chosen.hasobject:
        raise BadArgument(f"dtype={dtype!r} has Python objects, which cannot be shared", argument="dtype")
    return chosen


def to_text(dtype: Any, what: str) -> tuple[str, int]:
    """A dtype as (text, bytes of an element): "|u1", "<f4", "[('x', '<f4'), …]"."""
    chosen = parse(dtype, numpy(what))
    if chosen.subdtype is not None:
        raise BadArgument(f"dtype={dtype!r} is an array itself: put its shape into shape=", argument="dtype")
    if chosen.itemsize == 0:
        raise BadArgument(f"dtype={dtype!r} has elements of no size: give it one", argument="dtype")
    return (chosen.str if chosen.names is None else repr(chosen.descr)), chosen.itemsize


@lru_cache(maxsize=64)
def from_text(text: str, item_size: int, what: str) -> Any:
    """The dtype that `to_text` wrote; anything else is Corrupt."""
    import ast  # slow to import, and every bus knows this module

    try:
        chosen = numpy(what).dtype(ast.literal_eval(text) if text.startswith("[") else text)
    except (TypeError, ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise Corrupt(f"{text!r} in shared memory is no dtype: {error}", argument="dtype") from None
    if chosen.hasobject or chosen.itemsize != item_size:
        raise Corrupt(f"dtype {text!r} in shared memory has other elements than it says", argument="dtype")
    return chosen
