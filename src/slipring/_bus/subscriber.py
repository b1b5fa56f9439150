# SPDX-License-Identifier: Apache-2.0
"""Subscriber: the compiled type, plus Arrow batches, asyncio, seeking and statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, SupportsIndex

from .native import _native
from .settings import start_place

if TYPE_CHECKING:
    import pyarrow

    from . import aio

Message = _native.Message


class _ArrowBatch:
    """What a batch looks like to the Arrow PyCapsule protocol."""

    __slots__ = ("_capsules",)

    def __init__(self, capsules: tuple[object, object]) -> None:
        self._capsules = capsules

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._capsules


class Subscriber(_native.Subscriber):
    """Receives a topic's messages, in order. Made by `Bus.subscriber`; usable before the topic exists."""

    __slots__ = ("__weakref__",)

    def recv_batch(self, n: int = 65536, timeout: float | None = 0) -> pyarrow.RecordBatch:
        """Up to n messages as one Arrow batch; waits at most timeout for the first."""
        try:
            import pyarrow
        except ImportError as error:
            raise ImportError('recv_batch needs pyarrow: pip install "slipring[arrow]"') from error
        return pyarrow.record_batch(_ArrowBatch(self._recv_batch(n, timeout)))

    def seek(self, start: str | SupportsIndex) -> None:
        """Go to "new", "last", "oldest" or a sequence."""
        self._seek(*start_place(start))

    async def arecv(self, timeout: float | None = None) -> Message | None:
        """`recv` for asyncio: the same subscriber, without blocking the loop."""
        from . import aio  # asyncio is slow to import, and most programs do without

        return await aio.receive(self, timeout)

    def __aiter__(self) -> aio.Messages:
        from . import aio

        return aio.Messages(self)

    @property
    def received(self) -> int:
        """Messages delivered by this subscriber."""
        return self._counts()[0]

    @property
    def lost(self) -> int:
        """Messages this subscriber was too late for, exactly."""
        return self._counts()[1]

    @property
    def filtered(self) -> int:
        """Messages passed over: by filters, as one's own, or conflated away."""
        return self._counts()[2]

    @property
    def position(self) -> int:
        """The sequence to be looked at next."""
        return self._counts()[3]

    @property
    def lag(self) -> int:
        """How many sequences lie between position and the topic's tail."""
        _, _, _, position, tail, _, _ = self._counts()
        return max(0, tail - position)

    def stats(self) -> dict[str, Any]:
        """All of the above in one dict, and whether the subscriber has a table entry and is reliable."""
        received, lost, filtered, position, tail, entry, reliable = self._counts()
        return {
            "topic": self.topic,
            "attached": self.attached,
            "received": received,
            "lost": lost,
            "filtered": filtered,
            "position": position,
            "lag": max(0, tail - position),
            "entry": None if entry < 0 else entry,
            "reliable": reliable,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " closed" if self.closed else "" if self.attached else " waiting for its topic"
        return f"<Subscriber {self.topic!r}{state}>"


Subscriber.__module__ = "slipring"
