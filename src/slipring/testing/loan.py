# SPDX-License-Identifier: Apache-2.0
"""pub.loan(): memory to fill. Leaving the block commits, an exception aborts. If slices or arrays of the view
are still alive then, nothing is sent: the claim stays open until they are gone, and is abandoned then.
"""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING
from weakref import ref

from slipring._bus.pickling import Unpicklable
from slipring.errors import Closed

from .buffers import Region, lend, text_bytes

if TYPE_CHECKING:
    from .publisher import SteppedPublisher


class SteppedLoan(Unpicklable):
    def __init__(self, publisher: SteppedPublisher, size: int, type: str, timeout: float | None) -> None:
        self._publisher = publisher
        self._size = size
        self._type = type
        self._timeout = timeout
        self._seq: int | None = None
        self._region: Region | None = None
        self._view: memoryview | None = None

    @property
    def seq(self) -> int | None:
        """The message's sequence, once entered."""
        return self._seq

    def __enter__(self) -> memoryview:
        if self._seq is not None:
            raise RuntimeError("a loan is used once: ask for another")
        publisher = self._publisher
        publisher._check_life()
        text_bytes("type", self._type)
        wait_s = publisher._patience(self._timeout)
        seq = publisher._claim(self._size, self._type, publisher.sender, wait_s)
        owner = ref(publisher)

        def ended() -> None:
            alive = owner()
            if alive is not None:
                alive._abandon(seq)

        self._seq = seq
        self._region = lend(self._size, ended)
        self._view = memoryview(self._region)
        return self._view

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        region, self._region = self._region, None
        if region is None or self._seq is None:
            return
        self._release()
        publisher = self._publisher
        if kind is not None:
            return
        if publisher.closed:
            raise Closed("this publisher is closed")
        if region.in_use(references=1):
            text = (
                "nothing was sent: slices or arrays of the loan are still in use and could change the message"
            )
            raise BufferError(f"{text}; delete them before the block ends")
        publisher._topic.check()
        region.ended = None
        publisher._commit(self._seq, bytes(region), None)

    def _release(self) -> None:
        view, self._view = self._view, None
        if view is not None:
            with suppress(BufferError):  # an array was made from the view itself: the region knows
                view.release()
