# SPDX-License-Identifier: Apache-2.0
"""The standard library's: multiprocessing's Pipe, Queue and Array, and asyncio's streams over Unix sockets."""

import asyncio
import multiprocessing

from benchmarks.rivals.unix_socket import UnixSocket
from slipring.bench.transport import AsyncReceive, AsyncSend, Receive, Send, Transport


class MultiprocessingPipe(Transport):
    """multiprocessing.Pipe, with bytes rather than pickled objects."""

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.ends = {channel: multiprocessing.Pipe(duplex=False) for channel in self.channels}

    def sender(self, channel: str) -> Send:
        return self.ends[channel][1].send_bytes

    def receiver(self, channel: str) -> Receive:
        return self.ends[channel][0].recv_bytes

    def close(self) -> None:
        for pair in self.ends.values():
            for end in pair:
                end.close()


# A bound keeps the feeder thread's backlog, and so memory, in check with large bodies.
BACKLOG_BYTES = 64 << 20


class MultiprocessingQueue(Transport):
    """multiprocessing.Queue."""

    threads_of_its_own = True

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        backlog = max(16, min(10_000, BACKLOG_BYTES // size))
        self.queues: dict = {channel: multiprocessing.Queue(backlog) for channel in self.channels}
        self.fed: list = []

    def sender(self, channel: str) -> Send:
        self.fed.append(self.queues[channel])
        return self.queues[channel].put

    def receiver(self, channel: str) -> Receive:
        return self.queues[channel].get

    def close(self) -> None:
        for queue in self.fed:
            queue.close()
            queue.join_thread()


class Array(Transport):
    """multiprocessing.Array: the newest value behind a lock."""

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.array = multiprocessing.get_context("fork").Array("c", size)

    def sender(self, channel: str) -> Send:
        array = self.array
        lock, view = array.get_lock(), memoryview(array.get_obj()).cast("B")

        def put(body: bytes) -> None:
            with lock:
                view[:] = body

        return put

    def receiver(self, channel: str) -> Receive:
        array = self.array
        lock, view = array.get_lock(), memoryview(array.get_obj()).cast("B")

        def latest() -> bytes:
            with lock:
                return bytes(view)

        return latest

    def close(self) -> None:
        pass


class Streams(UnixSocket):
    """A message is read by its size, which both sides know: no framing to pay."""

    largest_packet = -1

    async def async_sender(self, channel: str) -> AsyncSend:
        _, writer = await asyncio.open_unix_connection(sock=self.ends[channel][1])

        async def send_one(body: bytes) -> None:
            writer.write(body)
            await writer.drain()

        return send_one

    async def async_receiver(self, channel: str) -> AsyncReceive:
        reader, self.kept_open = await asyncio.open_unix_connection(sock=self.ends[channel][0])
        size = self.size
        return lambda: reader.readexactly(size)


TRANSPORTS = {
    "mp-pipe": MultiprocessingPipe,
    "mp-queue": MultiprocessingQueue,
    "mp-array": Array,
    "asyncio-streams": Streams,
}
