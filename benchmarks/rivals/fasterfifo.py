# SPDX-License-Identifier: Apache-2.0
"""faster-fifo with raw bytes (no pickling): its fastest setting, one at a time and many at a time."""

import faster_fifo

from slipring.bench.transport import Receive, ReceiveMany, Send, SendMany, Transport

PATIENCE_S = 20.0


class FasterFifo(Transport):
    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        capacity = max(16 << 20, 16 * size)
        self.queues = {
            channel: faster_fifo.Queue(max_size_bytes=capacity, loads=bytes, dumps=bytes)
            for channel in self.channels
        }

    def sender(self, channel: str) -> Send:
        put = self.queues[channel].put
        return lambda body: put(body, timeout=PATIENCE_S)

    def receiver(self, channel: str) -> Receive:
        get = self.queues[channel].get
        return lambda: get(timeout=PATIENCE_S)

    def sender_many(self, channel: str) -> SendMany:
        put_many = self.queues[channel].put_many
        return lambda bodies: put_many(bodies, timeout=PATIENCE_S)

    def receiver_many(self, channel: str) -> ReceiveMany:
        get_many = self.queues[channel].get_many
        return lambda: len(get_many(timeout=PATIENCE_S, max_messages_to_get=1000))


TRANSPORTS = {"faster-fifo": FasterFifo}
