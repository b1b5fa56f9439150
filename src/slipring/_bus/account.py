# SPDX-License-Identifier: Apache-2.0
"""What every subscriber tells of itself, whatever carries its messages: the account, its place, iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex

from .closing import Closing
from .facts import Facts
from .settings import start_place

if TYPE_CHECKING:
    from . import aio


class Account(Closing):
    """Mixed into a class that has `topic`, `closed`, `attached`, `arecv`, `close`, `_counts` and `_seek`."""

    __slots__ = ()

    if TYPE_CHECKING:
        topic: str

        @property
        def closed(self) -> bool: ...
        @property
        def attached(self) -> bool: ...
        def _seek(self, start: int, seq: int, /) -> None: ...
        def _counts(self) -> tuple[int, int, int, int, int, int, bool]: ...

    def seek(self, start: str | SupportsIndex) -> None:
        """Go to "new", "last", "oldest" or a sequence."""
        self._seek(*start_place(start))

    def __aiter__(self) -> aio.Messages:
        from . import aio  # asyncio is slow to import, and most programs do without

        return aio.Messages(self)  # type: ignore[arg-type]  # it has arecv

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
        return Facts(
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
