# SPDX-License-Identifier: Apache-2.0
"""What a bus has beside topics of messages: cells, frames and calls. Each stands on something that another kind of bus
can replace: a store of cells, a store of frames, the runtime of calls. Each is imported by who uses it: most processes
only publish and subscribe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, cast

from . import directory
from .settings import names_its_parameters
from .topics import Topics

if TYPE_CHECKING:
    from .bus import Bus
    from .calls.client.client import Client
    from .calls.codecs import Codec
    from .calls.runtime import Runtime
    from .calls.server.server import Server
    from .cells.cells import Cells
    from .cells.store import CellsStore
    from .frames.frames import Frames
    from .frames.store import FrameStore


class Made(Protocol):
    """What was made from a bus, as long as it lives."""

    def add(self, made: Any, /) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...


class Patterns(Topics):
    """The part of `Bus` that makes them."""

    _handles: Made
    _services: Made

    @names_its_parameters
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
        from .cells import cells

        arguments = (dtype, depth, shape, size, mode, exist_ok)
        store = self._cells_store()
        cells.create(store, self._topic(name), *arguments)
        return cells.Cells(store, name, self._handles.add)

    def _cells_store(self) -> CellsStore:
        from .cells.store import SharedCells

        return SharedCells(self.path, lambda: directory.make(self.root, self.path))

    @names_its_parameters
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
        from .frames.frames import Frames

        given = {"mode": mode, "max_readers": max_readers}
        arguments = (shape, dtype, buffers, streams, given)
        return Frames(cast("Bus", self), self._frame_store(), self._topic(topic), *arguments)

    def _frame_store(self) -> FrameStore:
        from .frames.store import SharedFrames

        return SharedFrames(self.path, lambda: directory.make(self.root, self.path))

    # Calls

    @names_its_parameters
    def server(
        self,
        service: str,
        *,
        workers: int = 1,
        codec: str | Codec = "msgpack",
        backlog: int = 1024,
        tasks: int = 1000,
        capacity: int | str = "4MiB",
        max_clients: int = 256,
        mode: int | None = None,
        tracebacks: bool = False,
    ) -> Server:
        """Return a server of methods: `server.method(function)`, then `server.start()`.

        workers plain methods run at once, up to backlog calls wait for them; up to tasks async methods run at once.
        tracebacks=True sends the traceback of a failed method to its caller."""
        from .calls.server.server import Server

        server = Server(
            cast("Bus", self), service, workers=workers, codec=codec, backlog=backlog, tasks=tasks,
            capacity=capacity, max_clients=max_clients, mode=mode, tracebacks=tracebacks,
        )  # fmt: skip
        self._services.add(server)
        return server

    @names_its_parameters
    def client(
        self,
        service: str,
        timeout: float | None = 5.0,
        *,
        codec: str | Codec = "msgpack",
        capacity: int | str = "1MiB",
        max_answer: int | str = "256MiB",
        window: int = 16,
        mode: int | None = None,
    ) -> Client:
        """Return a client of a service: `client.call("method", …)`.

        timeout is for each call. capacity is of its reply topic; answers of up to max_answer are taken; window parts
        of a stream are sent ahead."""
        from .calls.client.client import Client

        client = Client(
            cast("Bus", self), service, timeout, codec=codec, capacity=capacity, max_answer=max_answer,
            window=window, mode=mode,
        )  # fmt: skip
        self._services.add(client)
        return client

    def _calls_runtime(self) -> Runtime:
        from .calls.runtime import Runtime

        return Runtime(cast("Bus", self))
