# SPDX-License-Identifier: Apache-2.0
"""A POSIX message queue of the kernel, by posix_ipc: as deep and as wide as it is without privilege."""

from pathlib import Path

import posix_ipc

from slipring.bench.transport import Receive, Send, Transport

LIMITS = Path("/proc/sys/fs/mqueue")


class Queue(Transport):
    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        deepest = int((LIMITS / "msg_max").read_text())
        # The name goes at once: the queue lives as long as those who inherit it.
        self.queues = {}
        for channel in self.channels:
            name = f"/{place.parent.name}-{place.name}-{channel}"
            self.queues[channel] = posix_ipc.MessageQueue(
                name, posix_ipc.O_CREX, max_messages=deepest, max_message_size=max(size, 1)
            )
            posix_ipc.unlink_message_queue(name)

    def sender(self, channel: str) -> Send:
        return self.queues[channel].send

    def receiver(self, channel: str) -> Receive:
        receive = self.queues[channel].receive
        return lambda: receive()[0]

    def close(self) -> None:
        for queue in self.queues.values():
            queue.close()


TRANSPORTS = {"posix-mq": Queue}
