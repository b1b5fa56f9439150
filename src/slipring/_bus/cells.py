# SPDX-License-Identifier: Apache-2.0
"""Cells: the newest values of one writer for one reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slipring.errors import TopicExists

from .cells_ends import CellsReader, CellsWriter
from .elements import Elements, describe, from_format
from .native import _native
from .settings import file_mode, positive


class Cells:
    """Named cells on a bus. Made by `Bus.cells`."""

    __slots__ = ("_elements", "_path", "_register", "depth", "name")

    def __init__(self, path: str, name: str, register: Callable[[Any], None]) -> None:
        found = _native.cells_stats(path, name)
        self.name = name
        self.depth: int = found["depth"]
        self._path = path
        self._register = register
        self._elements = from_format(found["format"], found["size"])

    @property
    def dtype(self) -> Any:
        """The numpy dtype of an element; None: plain bytes."""
        return self._elements.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._elements.shape

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self._elements.size

    def writer(self) -> CellsWriter:
        """The writer; Busy while there is one."""
        writer = CellsWriter(self._path, self.name, self._elements)
        self._register(writer)
        return writer

    def reader(self) -> CellsReader:
        """The reader; Busy while there is one. Goes on where the last one ended."""
        reader = CellsReader(self._path, self.name, self._elements)
        self._register(reader)
        return reader

    def stats(self) -> dict[str, Any]:
        """Counters as they stand in shared memory."""
        return stats(self._path, self.name)

    def __repr__(self) -> str:
        return f"<Cells {self.name!r} depth={self.depth} of {self._elements}>"


def stats(path: str, name: str) -> dict[str, Any]:
    found = _native.cells_stats(path, name)
    return {"topic": name, "kind": "cells", **found}


def _refuse(error: TopicExists, name: str, found: Elements, asked: Elements) -> None:
    """The same refusal, with what is there and what was asked for as people write it."""
    other = type(found) is not type(asked)
    for argument in ("dtype", "shape", "size"):
        there, here = (found, asked) if other else (getattr(found, argument), getattr(asked, argument))
        if other or there != here:
            text = (
                f"cells '{name}' exist with {argument}={there}, asked for {here}: leave dtype, shape and "
                "size out to take what is there, or remove the cells first"
            )
            raise TopicExists(text, argument=argument, found=str(there), asked=str(here)) from error


def create(
    path: str,
    name: str,
    dtype: Any,
    depth: Any,
    shape: Any,
    size: Any,
    mode: Any,
    exist_ok: bool,
    make_bus: Callable[[], None],
) -> None:
    """Create what the arguments describe, or check that what exists is just that."""
    asked = describe(dtype, shape, size)
    wanted = 0 if depth is None else min(positive("depth", depth), 2**32 - 1)
    bits = 0 if mode is None else file_mode(mode)
    if asked is not None:
        make_bus()
    try:
        _native.cells_create(
            path, name, asked.size if asked else 0, wanted, bits, asked.format if asked else "", exist_ok
        )
    except TopicExists as error:
        if error.argument == "dtype" and asked is not None:
            found = _native.cells_stats(path, name)
            _refuse(error, name, from_format(found["format"], found["size"]), asked)
        raise


for _class in (Cells, CellsReader, CellsWriter):
    _class.__module__ = "slipring"
