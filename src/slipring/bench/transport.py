# SPDX-License-Identifier: Apache-2.0
"""What a rival has to provide to be measured: one-way channels that carry bytes between two processes.

An instance is made before the fork; channels are opened after it, each in the process that uses it, because
a mapping inherited over fork refaults page by page and would spoil the figures of transports that share memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Awaitable, Callable, Sequence
from itertools import repeat
from pathlib import Path
from time import perf_counter_ns
from typing import Any

Send = Callable[[bytes], Any]
Receive = Callable[[], Any]
SendMany = Callable[[Sequence[bytes]], Any]
ReceiveMany = Callable[[], int]
Wait = Callable[[], Sequence[Callable[[], bytes]]]
AsyncSend = Callable[[bytes], Awaitable[Any]]
AsyncReceive = Callable[[], Awaitable[bytes]]
Call = Callable[[bytes], Any]


def no_moments(count: int) -> array[int]:
    """Room for the times of so many moments.

    Its memory is allocated in advance. A list of new numbers takes a page from the kernel for every 128 of them, which
    slows down nearly one trip in a hundred and so distorts p99.
    """
    return array("q", bytes(8 * count))


class Transport:
    """One way of moving messages of one size from a Python process to another.

    ``place`` is a private directory for sockets and files. What can only live elsewhere in /dev/shm carries
    ``place.parent.name`` in its name: the run removes everything so named.
    """

    # Without threads of their own the two processes are kept on two processors: putting them on
    # one makes sleeping look ten times faster and spinning a thousand times slower. With threads, pinning
    # a process would put them in each other's way, so the scheduler decides.
    threads_of_its_own = False

    def __init__(self, place: Path, size: int, channels: Sequence[str] = ("there",)) -> None:
        self.place = place
        self.size = size
        self.channels = tuple(channels)

    def receiver(self, channel: str) -> Receive:
        """Open the receiving end, before any sender opens; the callable blocks until it has one message."""
        raise NotImplementedError

    def sender(self, channel: str) -> Send:
        """Open the sending end; the callable may block, never drop."""
        raise NotImplementedError

    def receiver_many(self, channel: str) -> ReceiveMany:
        """Open the receiving end; the callable takes what is there (at least one) and returns how many."""
        raise NotImplementedError

    def sender_many(self, channel: str) -> SendMany:
        raise NotImplementedError

    def slow_subscribers(self, channel: str, count: int) -> Callable[[], Any]:
        """Attach ``count`` subscribers that may be overrun; the callable lets each take a few messages."""
        raise NotImplementedError

    def publisher(self, channel: str, subscribers: int) -> Send:
        """Open a sending end for so many subscribers, once all are attached; what it waits for is its own choice."""
        return self.sender(channel)

    def flush(self) -> None:
        """Let go of what the sending end has kept back to send together."""

    def lost(self) -> int | None:
        """Return how many sent messages did not reach this process, or None if the transport does not report it."""
        return None

    def waiter(self) -> Wait:
        """Open the receiving ends of all channels; the callable blocks until some have a message, and returns which."""
        raise NotImplementedError

    async def async_sender(self, channel: str) -> AsyncSend:
        """Open the sending end for tasks of the running loop."""
        raise NotImplementedError

    async def async_receiver(self, channel: str) -> AsyncReceive:
        """Open the receiving end for tasks of the running loop."""
        raise NotImplementedError

    def footprint(self) -> tuple[list[Path], int]:
        """Fill one channel; the files it lies in, and how many messages are in them."""
        raise NotImplementedError

    def serve(self) -> None:
        """Answer calls with what they brought, until closed; returns when calls may come."""
        raise NotImplementedError

    def caller(self) -> Call:
        """The callable sends bytes to the other process and returns its answer."""
        raise NotImplementedError

    def take(self, receive: Receive, count: int) -> int:
        """Receive ``count`` messages; the length of the last body, to check that the work was really done."""
        body = b""
        for _ in repeat(None, count):
            body = receive()
        return len(body)

    def until(self, receive: Receive, end: bytes) -> int:
        """Receive until a body equals ``end``; how many came before it."""
        count = 0
        while receive() != end:
            count += 1
        return count

    def ping(self, send: Send, receive: Receive, body: bytes, count: int) -> array[int]:
        """Times of ``count`` + 1 moments in ns: neighbours are one round trip apart."""
        moments = no_moments(count + 1)
        clock = perf_counter_ns
        moments[0] = clock()
        for i in range(1, count + 1):
            send(body)
            receive()
            moments[i] = clock()
        return moments

    def echo(self, receive: Receive, send: Send, count: int) -> None:
        for _ in repeat(None, count):
            send(receive())

    def close(self) -> None:
        """Flush and release what this process opened."""
