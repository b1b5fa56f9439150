# SPDX-License-Identifier: Apache-2.0
"""Cells: the newest values of one writer for one reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slipring.errors import TopicExists

from ..closing import Unpicklable
from ..settings import file_mode, positive
from .elements import Elements, describe, from_format
from .ends import CellsReader, CellsWriter
from .store import CellsStore, with_kind


class Cells(Unpicklable):
    """Named cells on a bus. Made by `Bus.cells`."""

    __slots__ = ("_elements", "_register", "_store", "depth", "name")

    def __init__(self, store: CellsStore, name: str, register: Callable[[Any], None]) -> None:
        found = store.stats(name)
        self.name = name
        self.depth: int = found["depth"]
        self._store = store
        self._register = register
        self._elements = from_format(found["format"], found["size"])

    @property
    def dtype(self) -> Any:
        """The numpy dtype of an element; None for plain bytes."""
        return self._elements.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._elements.shape

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self._elements.size

    def writer(self) -> CellsWriter:
        """Return the writer; raises Busy while there is one."""
        writer = CellsWriter(self._store.writer(self.name), self.name, self._elements)
        self._register(writer)
        return writer

    def reader(self) -> CellsReader:
        """Return the reader, which continues where the last one ended; raises Busy while there is one."""
        reader = CellsReader(self._store.reader(self.name), self.name, self._elements)
        self._register(reader)
        return reader

    def stats(self) -> dict[str, Any]:
        """Return the counters as they stand."""
        return with_kind(self.name, self._store.stats(self.name))

    def __repr__(self) -> str:
        return f"<Cells {self.name!r} depth={self.depth} of {self._elements}>"


def _refuse(error: TopicExists, name: str, found: Elements, asked: Elements) -> None:
    """Raise the error again, with the value found and the value given as programs write them."""
    other = type(found) is not type(asked)
    for argument in ("dtype", "shape", "size"):
        there, here = (found, asked) if other else (getattr(found, argument), getattr(asked, argument))
        if other or there != here:
            text = (
                f"cells '{name}' exist with {argument}={there}, asked for {here}: omit dtype, shape and "
                "size to use the existing value, or remove the cells first"
            )
            raise TopicExists(text, argument=argument, found=str(there), asked=str(here)) from error


def create(
    store: CellsStore, name: str, dtype: Any, depth: Any, shape: Any, size: Any, mode: Any, exist_ok: bool
) -> None:
    """Create the cells that the arguments describe, or check that existing cells match."""
    asked = describe(dtype, shape, size)
    wanted = 0 if depth is None else min(positive("depth", depth), 2**32 - 1)
    bits = 0 if mode is None else file_mode(mode)
    try:
        store.create(name, asked.size if asked else 0, wanted, bits, asked.format if asked else "", exist_ok)
    except TopicExists as error:
        if error.argument == "dtype" and asked is not None:
            found = store.stats(name)
            _refuse(error, name, from_format(found["format"], found["size"]), asked)
        raise


for _class in (Cells, CellsReader, CellsWriter):
    _class.__module__ = "slipring"
