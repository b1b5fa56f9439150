# SPDX-License-Identifier: Apache-2.0
"""Subscriber: the compiled type, plus Arrow batches, asyncio, seeking and statistics.

`Account` is the part that a subscriber of every kind of bus has. `SHARED_MEMORY` is the way in which subscribers of
this host wait (wait.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, TypeVar

from slipring.errors import Closed

from . import notebook
from .batches import ArrowBatch
from .batches import pyarrow as import_pyarrow
from .closing import Closing
from .native import _native
from .publisher import Value
from .settings import start_place
from .wait import Waitable, Waits

if TYPE_CHECKING:
    import pyarrow

    from .typed.columns import BatchStream, Columns
    from .typed.subscriber_reading import Reading

Message = _native.Message
Message._repr_html_ = notebook.message  # type: ignore[method-assign, assignment]

SPIN_US = 20.0
T = TypeVar("T")


class Messages:
    """`async for message in subscriber`: until it is closed."""

    def __init__(self, subscriber: Any) -> None:
        self._subscriber = subscriber

    def __aiter__(self) -> Messages:
        return self

    async def __anext__(self) -> Message:
        try:
            message: Message | None = await self._subscriber.arecv(None)
        except Closed:
            raise StopAsyncIteration from None
        if message is None:
            raise StopAsyncIteration
        return message


class Account(Closing):
    """The counts, the position and the asyncio methods of a subscriber. A subclass has `topic`, `closed`, `attached`,
    `close`, `_waits`, `_ready`, `_take_here`, `_counts` and `_seek`."""

    __slots__ = ()

    if TYPE_CHECKING:
        topic: str

        @property
        def closed(self) -> bool: ...
        @property
        def attached(self) -> bool: ...
        @property
        def _waits(self) -> Waits: ...

        _schema: bytes | None
        _reading: Reading

        def _batch(self, n: int, timeout: float | None) -> pyarrow.RecordBatch: ...
        def _ready(self) -> bool: ...
        def _take_here(self) -> Message | None: ...
        def _seek(self, start: int, seq: int, /) -> None: ...
        def _counts(self) -> tuple[int, int, int, int, int, int, bool]: ...

    def recv_batch(
        self, n: int = 65536, timeout: float | None = 0, *, decode: bool = False
    ) -> pyarrow.RecordBatch:
        """Return up to n messages as one Arrow batch; wait at most timeout for the first.

        The columns are topic, offset, timestamp, sender, type and value. decode=True on a typed topic: a column for
        each field in place of value. A message that does not fit the schema raises Undecodable, whose `batch` has the
        rows of the others."""
        return self._decoded(n, timeout)[0] if decode else self._batch(n, timeout)

    def _decoded(self, n: int, timeout: float | None) -> tuple[pyarrow.RecordBatch, int]:
        """Return a batch with a column for each field, and the number of messages that were taken for it."""
        self._columns()  # what cannot decode raises before anything is taken
        raw = self._batch(n, timeout)
        columns = self._columns()
        return (raw if columns is None else columns.of(raw)), raw.num_rows

    def _columns(self) -> Columns | None:
        """Return what decodes batches; None on an untyped topic, or while there is none."""
        return self._reading.columns(self._schema)

    def stream(
        self, n: int | None = None, timeout: float | None = 0, *, rows: int = 65536, decode: bool = True
    ) -> BatchStream:
        """Return the messages as an Arrow stream, for DuckDB, Polars or pyarrow: an object with `__arrow_c_stream__`.

        It ends when timeout passes without a message, after n messages, or when the subscriber is closed. rows: the
        most messages of a batch. decode: a column for each field of a typed topic."""
        from .typed.columns import BatchStream

        return BatchStream(self, n, timeout, rows, decode)

    def seek(self, start: str | SupportsIndex) -> None:
        """Move to "new", "last", "oldest" or a sequence."""
        self._seek(*start_place(start))

    async def arecv(self, timeout: float | None = None) -> Message | None:
        """`recv` for asyncio: the same subscriber, without blocking the loop; cancelling loses nothing."""
        return await self._until(timeout, self._take_here)

    async def _until(self, timeout: float | None, take: Callable[[], T | None]) -> T | None:
        """Return what `take` finds here, or None after timeout; cancelling loses nothing."""
        return await self._waits.until(self, timeout, take)

    def _waited(self) -> Self:
        return self

    def __aiter__(self) -> Messages:
        return Messages(self)

    @property
    def received(self) -> int:
        """Messages delivered by this subscriber."""
        return self._counts()[0]

    @property
    def lost(self) -> int:
        """Messages that were overwritten before this subscriber read them, exactly."""
        return self._counts()[1]

    @property
    def filtered(self) -> int:
        """Messages passed over: by filters, as one's own, or by conflation."""
        return self._counts()[2]

    @property
    def position(self) -> int:
        """The sequence that is read next."""
        return self._counts()[3]

    @property
    def lag(self) -> int:
        """The number of sequences between position and the topic's tail."""
        _, _, _, position, tail, _, _ = self._counts()
        return max(0, tail - position)

    def stats(self) -> dict[str, Any]:
        """Return all of the above in one dict, and whether the subscriber has a table entry and is reliable."""
        received, lost, filtered, position, tail, entry, reliable = self._counts()
        return notebook.Facts(
            topic=self.topic,
            attached=self.attached,
            received=received,
            lost=lost,
            filtered=filtered,
            position=position,
            lag=max(0, tail - position),
            entry=None if entry < 0 else entry,
            reliable=reliable,
        )

    def __repr__(self) -> str:
        state = " closed" if self.closed else "" if self.attached else " waiting for its topic"
        return f"<Subscriber {self.topic!r}{state}>"


class _SharedMemory:
    """Waits on all topics of this host in one futex call."""

    monotonic = staticmethod(time.monotonic)

    def with_others(self) -> frozenset[Waits]:
        return frozenset((self,))

    def sleep(
        self,
        items: tuple[Waitable, ...],
        timeout: float | None,
        bell: _native.Bell | None = None,
        rings: int = 0,
    ) -> None:
        compiled: Any = tuple(item._waited() for item in items)  # since their waits are these
        _native.wait(compiled, bell, rings, timeout, SPIN_US)

    async def until(self, item: Waitable, timeout: float | None, take: Callable[[], T | None]) -> T | None:
        from . import aio  # asyncio is slow to import, and most programs do without

        return await aio.until(item, timeout, take)


SHARED_MEMORY: Waits = _SharedMemory()


class Subscriber(Account, _native.Subscriber[Value]):
    """Receives a topic's messages, in order. Made by `Bus.subscriber`; usable before the topic exists.

    Subscriber[Imu] has messages whose `value` is an object of the class Imu."""

    __slots__ = ("__weakref__", "_reading")
    _waits = SHARED_MEMORY
    _reading: Reading

    def __new__(cls, path: str, topic: str, arguments: tuple[Any, ...], reading: Reading) -> Self:
        made = super().__new__(cls, path, topic, arguments, reading)
        made._reading = reading
        return made

    def _batch(self, n: int, timeout: float | None) -> pyarrow.RecordBatch:
        arrow = import_pyarrow()
        return arrow.record_batch(ArrowBatch(self._recv_batch(n, timeout)))

    def _take_here(self) -> Message[Value] | None:
        """Return the next message that is here; never wait."""
        return self.recv(0)


Subscriber.__module__ = "slipring"
