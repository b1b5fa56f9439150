# SPDX-License-Identifier: Apache-2.0
"""The cells of a stepped bus, created and opened by the rules of shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument, TopicExists, TopicNotFound

from ..ring.geometry import check_mode
from .cells import SteppedCells
from .ends import SteppedCellsReader, SteppedCellsWriter

if TYPE_CHECKING:
    from ..ports.handle import Handle
    from ..simulation import Simulation

_MAX_DEPTH = 65536
_MAX_SIZE = 1 << 32
_MAX_FORMAT = 2047
_DEFAULT_DEPTH = 4


class SteppedStore:
    def __init__(self, simulation: Simulation, register: Callable[[Handle], None]) -> None:
        self._simulation = simulation
        self._register = register

    def create(self, name: str, size: int, depth: int, mode: int, format: str, exist_ok: bool) -> None:
        _check(size, depth, mode, format)
        simulation, found = self._simulation, self._simulation.cells.get(name)
        if size:
            simulation.check_kind(name, "cells")
        elif found is None:
            raise self._missing(name)
        if found is None:
            generation, now_ns = simulation.generation(), simulation.clock.time_ns()
            simulation.cells[name] = SteppedCells(
                name, size, depth or _DEFAULT_DEPTH, mode or 0o600, format, generation, now_ns
            )
            simulation.note(f"create cells {name}")
        elif size and not exist_ok:
            text = f"cells '{name}' exists: use exist_ok=True or another name"
            raise TopicExists(text, argument="topic")
        else:
            _match(found, size, depth, format)

    def _missing(self, name: str) -> TopicNotFound:
        return TopicNotFound(f"there are no cells '{name}' on this bus", argument="topic")

    def _find(self, name: str) -> SteppedCells:
        found = self._simulation.cells.get(name)
        if found is None:
            raise self._missing(name)
        return found

    def stats(self, name: str) -> dict[str, Any]:
        return self._find(name).stats()

    def writer(self, name: str) -> SteppedCellsWriter:
        writer = SteppedCellsWriter(self._simulation, self._find(name))
        self._register(writer)
        return writer

    def reader(self, name: str) -> SteppedCellsReader:
        reader = SteppedCellsReader(self._simulation, self._find(name))
        self._register(reader)
        return reader


def _check(size: int, depth: int, mode: int, format: str) -> None:
    check_mode(mode)
    if depth > _MAX_DEPTH:
        raise BadArgument(f"depth={depth} is out of range: at most {_MAX_DEPTH}", argument="depth")
    if size > _MAX_SIZE:
        text = f"an element of {size} bytes is too large: at most {_MAX_SIZE}"
        raise BadArgument(text, argument="size")
    if len(format.encode()) > _MAX_FORMAT:
        text = f"the description of dtype has {len(format.encode())} bytes; at most {_MAX_FORMAT} are allowed"
        raise BadArgument(text, argument="dtype")


def _match(found: SteppedCells, size: int, depth: int, format: str) -> None:
    """Refuse settings that differ from those of the existing cells."""
    differs = None
    if depth and depth != found.depth:
        differs = "depth", str(found.depth), str(depth)
    elif size and (size, format) != (found.size, found.format):
        differs = "dtype", found.format[:63], format[:63]
    if differs is not None:
        argument, there, asked = differs
        text = f"cells '{found.name}' exist with {argument}={there}, asked for {asked}"
        hint = f"omit {argument} to use the existing value, or remove the cells first"
        raise TopicExists(f"{text}: {hint}", argument=argument, found=there, asked=asked)
