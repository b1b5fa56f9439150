# SPDX-License-Identifier: Apache-2.0
"""pub.loan() and sub.view() on a remote bus: the same shape as in shared memory, on memory of one's own."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from slipring._bus.subscriber import Message
from slipring.errors import BadArgument

if TYPE_CHECKING:
    from types import TracebackType

    from .publisher import RemotePublisher
    from .subscriber import RemoteSubscriber


class Loan:
    def __init__(self, publisher: RemotePublisher, size: int, type: str, timeout: float | None) -> None:
        try:
            number = operator.index(size)
        except TypeError:
            raise TypeError("size must be an integer number of bytes") from None
        if number < 0:
            raise BadArgument("size must be at least 0 and fit the address space", argument="size")
        self._publisher, self._size, self._type, self._timeout = publisher, number, type, timeout
        self._memory: bytearray | None = None
        self._used = False
        self.seq: int | None = None

    def __enter__(self) -> memoryview:
        if self._used:
            raise RuntimeError("a loan is used once: ask for another")
        self._publisher._check()
        self._publisher.check_size(self._size)
        self._used = True
        self._memory = bytearray(self._size)
        self._view = memoryview(self._memory)
        return self._view

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        memory, self._memory = self._memory, None
        if memory is None:
            return
        try:
            self._view.release()
            memory.append(0)  # refused while slices or arrays of it live
        except BufferError:
            if kind is None:
                raise BufferError(
                    "nothing was sent: slices or arrays of the loan are still in use and could change the "
                    "message; delete them before the block ends"
                ) from None
            return
        if kind is None:
            del memory[-1:]
            self.seq = self._publisher.send(memory, self._type, self._timeout)


class View:
    def __init__(self, subscriber: RemoteSubscriber, timeout: float | None) -> None:
        self._subscriber, self._timeout = subscriber, timeout
        self._body: memoryview | None = None

    def __enter__(self) -> Message | None:
        message = self._subscriber.recv_held(self._timeout)
        if message is None:
            return None
        self._seq = message.seq
        self._body = memoryview(message.body)
        return Message(self._body, message.sender, message.type, message.seq, message.time_ns, message.topic)

    def __exit__(self, *exc: object) -> None:
        if self._body is not None:
            self._body.release()
            self._body = None
            self._subscriber.release(self._seq)
