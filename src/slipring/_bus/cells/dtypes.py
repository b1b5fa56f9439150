# SPDX-License-Identifier: Apache-2.0
"""numpy, imported at the first use, and the dtypes of cells and frames as descriptions in shared memory.

A description is that of the npy format: "<f8", or a list of fields, with padding as fields without a name. Cells keep
it as JSON, frames as a literal of Python.
"""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import Any

from slipring.errors import BadArgument, Corrupt

# What numpy and JSON raise for a description that is not one.
NOT_UNDERSTOOD = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
    RecursionError,
    MemoryError,
    SyntaxError,
)


def numpy(what: str, instead: str = "") -> ModuleType:
    """Import numpy. The ImportError names the feature that needs it, and a way without it, if there is one."""
    try:
        import numpy
    except ImportError as error:
        raise ImportError(f'{what} needs numpy: pip install "slipring[numpy]"{instead}') from error
    return numpy


def parse(dtype: Any, module: ModuleType) -> Any:
    """Return the dtype of an argument; one of Python objects is refused."""
    try:
        chosen = module.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as error:
        raise BadArgument(f"dtype={dtype!r} is not a numpy dtype: {error}", argument="dtype") from None
    if chosen.hasobject:
        raise BadArgument(f"dtype={dtype!r} has Python objects, which cannot be shared", argument="dtype")
    return chosen


def to_text(dtype: Any, what: str) -> tuple[str, int]:
    """Return a dtype as (text, bytes of an element): "|u1", "<f4", "[('x', '<f4'), …]"."""
    chosen = parse(dtype, numpy(what))
    if chosen.subdtype is not None:
        raise BadArgument(f"dtype={dtype!r} is an array itself: put its shape into shape=", argument="dtype")
    if chosen.itemsize == 0:
        raise BadArgument(f"dtype={dtype!r} has elements of no size: give it one", argument="dtype")
    described = description(chosen)
    return (described if isinstance(described, str) else repr(described)), chosen.itemsize


def description(dtype: Any) -> Any:
    """Return the description of a dtype; BadArgument if it has none, such as one with fields that overlap."""
    try:
        return numpy("a dtype").lib.format.dtype_to_descr(dtype)
    except (ValueError, TypeError) as error:
        raise BadArgument(f"dtype={dtype} cannot be described: {error}", argument="dtype") from error


def from_description(described: Any) -> Any:
    """Return the dtype of a description, in which lists may stand for tuples. It may come from any program, and raise
    any error of numpy."""
    return numpy("a dtype").lib.format.descr_to_dtype(_tuples(described))


def _tuples(described: Any) -> Any:
    """Convert lists to tuples, which JSON does not have: fields, and shapes within them."""
    if not isinstance(described, list):
        return described
    return [(_name(field[0]), _tuples(field[1]), *map(tuple, field[2:])) for field in described]


def _name(name: Any) -> Any:
    return tuple(name) if isinstance(name, list) else name  # (title, name)


@lru_cache(maxsize=64)
def from_text(text: str, item_size: int, what: str) -> Any:
    """Return the dtype that `to_text` wrote; any other text raises Corrupt."""
    import ast  # slow to import, and every bus knows this module

    try:
        numpy(what)
        chosen = from_description(ast.literal_eval(text) if text.startswith("[") else text)
    except NOT_UNDERSTOOD as error:
        raise Corrupt(f"{text!r} in shared memory is not a dtype: {error}", argument="dtype") from None
    if chosen.hasobject or chosen.itemsize != item_size:
        raise Corrupt(
            f"dtype {text!r} in shared memory does not match the size of its elements", argument="dtype"
        )
    return chosen


def _cut(module: ModuleType, given: Any, wanted: Any) -> bool:
    """Return whether some of the values would change: wrapped, cut off, or half of them dropped."""
    kinds = given.dtype.kind + wanted.kind
    if given.dtype == wanted or not given.size:
        return False
    if kinds[0] in "iub" and kinds[1] in "iub":
        lowest, highest = (0, 1) if kinds[1] == "b" else (module.iinfo(wanted).min, module.iinfo(wanted).max)
        return not lowest <= int(given.min()) <= int(given.max()) <= highest
    if kinds[0] in "fc" and kinds[1] in "fc":
        with module.errstate(over="ignore", invalid="ignore"):
            stored = given.astype(wanted) if kinds != "cf" else given.real
        return kinds == "cf" or bool((module.isfinite(given) & ~module.isfinite(stored)).any())
    if kinds in ("SS", "UU"):
        room = wanted.itemsize // (1 if kinds == "SS" else 4)
        return bool(module.char.str_len(given).max() > room)
    return kinds[0] in "fc" and kinds[1] in "iub"


def refuse_cuts(module: ModuleType, given: Any, wanted: Any, argument: str) -> None:
    """Refuse an array with values that elements of `wanted` cannot hold; numpy would store others."""
    # defect values_cut: if False:
    if _cut(module, given, wanted):
        text = f"{argument} has dtype {given.dtype} and values that do not fit {wanted}: convert it first"
        raise BadArgument(text, argument=argument)
