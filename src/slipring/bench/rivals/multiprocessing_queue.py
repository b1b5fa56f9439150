# SPDX-License-Identifier: Apache-2.0
"""The standard library's multiprocessing.Queue."""

import multiprocessing

from slipring.bench.transport import Receive, Send, Transport

# A bound keeps the feeder thread's backlog, and so memory, in check with large bodies.
BACKLOG_BYTES = 64 << 20


class MultiprocessingQueue(Transport):
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


TRANSPORTS = {"mp-queue": MultiprocessingQueue}
