# SPDX-License-Identifier: Apache-2.0
"""Slipring as it is measured: a reliable topic, so that every message arrives, as with the rivals."""

from itertools import repeat

import slipring
from slipring.bench.transport import (
    AsyncReceive,
    AsyncSend,
    Receive,
    ReceiveMany,
    Send,
    SendMany,
    Transport,
    Wait,
)

CAPACITY = 16 << 20
LARGE_MESSAGES = 4
# A thousand topics are not made in a fraction of a second if each is large.
FEW, CAPACITY_OF_MANY = 8, 64 << 10
PATIENCE_S = 20.0
BATCH = 65536


def taking(subscriber) -> Receive:
    return lambda: subscriber.recv(0).body


class Slipring(Transport):
    """One call each; the receiver gets a whole Message: body, sender, type, sequence, time."""

    delivery = "reliable"
    writers = "many"
    spin_us: float | None = None

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        with slipring.Bus("bench", root=place) as bus:
            for channel in self.channels:
                least = CAPACITY if len(self.channels) <= FEW else CAPACITY_OF_MANY
                capacity = max(least, LARGE_MESSAGES * size)
                bus.create(channel, capacity=capacity, delivery=self.delivery, writers=self.writers)
        self.bus: slipring.Bus | None = None

    def _open(self) -> slipring.Bus:
        self.bus = self.bus or slipring.Bus("bench", root=self.place)
        return self.bus

    def _publisher(self, channel: str):
        return self._open().publisher(channel)

    def _subscriber(self, channel: str):
        self.subscriber = subscriber = self._open().subscriber(channel)
        if self.spin_us is not None:
            subscriber.spin_us = self.spin_us
        return subscriber

    def sender(self, channel: str) -> Send:
        return self._publisher(channel).send

    def publisher(self, channel: str, crowd: int) -> Send:
        publisher = self._publisher(channel)
        publisher.wait_for_subscribers(crowd, PATIENCE_S)
        return publisher.send

    def lost(self) -> int:
        return self.subscriber.lost

    def receiver(self, channel: str) -> Receive:
        return self._subscriber(channel).recv

    def waiter(self) -> Wait:
        subscribers = [self._subscriber(channel) for channel in self.channels]

        def wait() -> list:
            return [taking(subscriber) for subscriber in slipring.wait(subscribers)]

        return wait

    async def async_sender(self, channel: str) -> AsyncSend:
        send = self._publisher(channel).send

        async def send_one(body: bytes) -> None:
            send(body)

        return send_one

    async def async_receiver(self, channel: str) -> AsyncReceive:
        arecv = self._subscriber(channel).arecv

        async def receive_one() -> bytes:
            return (await arecv()).body

        return receive_one

    def sender_many(self, channel: str) -> SendMany:
        return self._publisher(channel).send_many

    def take(self, receive: Receive, count: int) -> int:
        body = b""
        for _ in repeat(None, count):
            # The attribute is part of the price: nobody receives a message without looking at its body.
            body = receive().body
        return len(body)

    def until(self, receive: Receive, end: bytes) -> int:
        count = 0
        while receive().body != end:
            count += 1
        return count

    def echo(self, receive: Receive, send: Send, count: int) -> None:
        for _ in repeat(None, count):
            send(receive().body)

    def close(self) -> None:
        if self.bus:
            self.bus.close()


class OneWriter(Slipring):
    writers = "one"


class Sleeping(Slipring):
    """Goes to sleep at once instead of spinning first."""

    spin_us = 0.0


class IntoBuffer(Slipring):
    """Received into a buffer that is there already, as a C program does: no new bytes object for each body."""

    def receiver(self, channel: str) -> Receive:
        recv_into, buffer = self._subscriber(channel).recv_into, bytearray(self.size)
        return lambda: recv_into(buffer)


class IntoArrow(Slipring):
    def receiver_many(self, channel: str) -> ReceiveMany:
        recv_batch = self._subscriber(channel).recv_batch
        return lambda: recv_batch(BATCH, timeout=PATIENCE_S).num_rows


class IntoLists(Slipring):
    """Takes what is there: whole messages, many a call."""

    def receiver(self, channel: str) -> Receive:
        recv_many = self._subscriber(channel).recv_many
        return lambda: recv_many(1024, timeout=PATIENCE_S)

    def until(self, receive: Receive, end: bytes) -> int:
        count = 0
        while True:
            for message in receive():
                if message.body == end:
                    return count
                count += 1

    def receiver_many(self, channel: str) -> ReceiveMany:
        recv_many = self._subscriber(channel).recv_many
        return lambda: len(recv_many(1024, timeout=PATIENCE_S))


class Lossy(Slipring):
    """A publisher that waits for nobody, in front of a crowd that does not keep up."""

    delivery = "lossy"

    def crowd(self, channel: str, count: int):
        subscribers = [self._subscriber(channel) for _ in range(count)]

        def take_a_few():
            for subscriber in subscribers:
                subscriber.recv_many(16)

        return take_a_few


TRANSPORTS = {
    "slipring-lossy": Lossy,
    "slipring": Slipring,
    "slipring-one-writer": OneWriter,
    "slipring-sleeping": Sleeping,
    "slipring-into": IntoBuffer,
    "slipring-arrow": IntoArrow,
    "slipring-lists": IntoLists,
}
