# SPDX-License-Identifier: Apache-2.0
"""What a bus has beside topics of messages: cells, frames and calls. Each stands on something that another kind of bus
can replace: a store of cells, a store of frames, the ground of calls. Each is imported by who uses it: most processes
only publish and subscribe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, cast

from . import directory
from .topics import Topics

if TYPE_CHECKING:
    from .bus import Bus
    from .calls.client import Client
    from .calls.ground import Ground
    from .calls.server import Server
    from .cells import Cells
    from .cells_store import CellsStore
    from .frame_store import FrameStore
    from .frames import Frames


class Made(Protocol):
    """What was made from a bus, as long as it lives."""

    def add(self, made: Any, /) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...


class Patterns(Topics):
    """The part of `Bus` that makes them."""

    _handles: Made
    _services: Made

    def cells(
        self,
        name: str,
        dtype: Any = None,
        depth: int | None = None,
        shape: int | Iterable[int] | None = None,
        *,
        size: int | None = None,
        mode: int | None = None,
        exist_ok: bool = True,
    ) -> Cells:
        """The newest `depth` (default 4) values of one writer for one reader: numpy values, or `size` bytes.

        Creates them when missing. What is given must match what exists; what is not takes what is there."""
        from . import cells

        arguments = (dtype, depth, shape, size, mode, exist_ok)
        store = self._cells_store()
        with directory.explained(self.path):
            cells.create(store, self._topic(name), *arguments)
        return cells.Cells(store, name, self._handles.add)

    def _cells_store(self) -> CellsStore:
        from .cells_store import SharedCells

        return SharedCells(self.path, lambda: directory.make(self.root, self.path))

    def frames(
        self,
        topic: str,
        shape: Any = None,
        dtype: Any = None,
        buffers: SupportsIndex | None = None,
        streams: Any = None,
        *,
        mode: int | None = None,
        max_readers: int | None = None,
    ) -> Frames:
        """Large arrays, in place: `.publisher()`, `.subscriber()`. What is not given takes what is there; a
        publisher needs shape, and by default dtype="u1" and buffers=4. streams: names, or a dict by name."""
        from .frames import Frames

        given = {"mode": mode, "max_readers": max_readers}
        arguments = (shape, dtype, buffers, streams, given)
        return Frames(cast("Bus", self), self._frame_store(), self._topic(topic), *arguments)

    def _frame_store(self) -> FrameStore:
        from .frame_store import SharedFrames

        return SharedFrames(self.path, lambda: directory.make(self.root, self.path))

    # Calls

    def server(self, service: str, **options: Any) -> Server:
        """A server of methods: `server.method(function)`, then `server.start()`. Options: see `Server`."""
        from .calls.server import Server

        server = Server(cast("Bus", self), service, **options)
        self._services.add(server)
        return server

    def client(self, service: str, timeout: float | None = 5.0, **options: Any) -> Client:
        """A client of a service: `client.call("method", …)`. Options: see `Client`."""
        from .calls.client import Client

        client = Client(cast("Bus", self), service, timeout, **options)
        self._services.add(client)
        return client

    def _ground(self) -> Ground:
        from .calls.ground import Ground

        return Ground(cast("Bus", self))
