# SPDX-License-Identifier: Apache-2.0
"""Slipring as it is measured: a reliable topic, so that every message arrives, as with other transports; and calls."""

import asyncio
from itertools import repeat
from typing import Any

import slipring
from slipring.bench.transport import (
    AsyncReceive,
    AsyncSend,
    Call,
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

    def publisher(self, channel: str, subscribers: int) -> Send:
        publisher = self._publisher(channel)
        publisher.wait_for_subscribers(subscribers, PATIENCE_S)
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
            # Access to the attribute is part of the cost: every receiver reads the body.
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
    """A publisher that waits for nobody, in front of subscribers that do not keep up."""

    delivery = "lossy"

    def slow_subscribers(self, channel: str, count: int):
        subscribers = [self._subscriber(channel) for _ in range(count)]

        def take_a_few():
            for subscriber in subscribers:
                subscriber.recv_many(16)

        return take_a_few


class InPlace(Slipring):
    """A loan and a view; each side touches the first byte, so that there is a message and somebody reads it."""

    def sender(self, channel: str) -> Send:
        loan, size = self._publisher(channel).loan, self.size

        def send(body: bytes) -> None:
            with loan(size) as memory:
                memory[0] = body[0]

        return send

    def receiver(self, channel: str) -> Receive:
        return self._subscriber(channel).view

    def take(self, receive: Receive, count: int) -> int:
        length = 0
        for _ in repeat(None, count):
            with receive() as message:
                body = message.body
                _ = body[0]
                length = len(body)
        return length


class Calls(Transport):
    codec = "msgpack"

    def _open(self) -> slipring.Bus:
        self.bus = slipring.Bus("bench", root=self.place)
        return self.bus

    def serve(self) -> None:
        self.server = self._open().server("bench", codec=self.codec)
        self.server.method(lambda body: body, name="echo")
        self.server.start()

    def caller(self) -> Call:
        client = self._open().client("bench", codec=self.codec)
        return lambda body: client.call("echo", body)

    def close(self) -> None:
        self.bus.close()


class Raw(Calls):
    codec = "raw"


class Async(Calls):
    """A task that awaits each answer before it asks again; the loop is part of the price."""

    def caller(self) -> Call:
        client = self._open().client("bench")
        loop = asyncio.new_event_loop()

        def call(body: bytes) -> Any:
            return loop.run_until_complete(client.acall("echo", body))

        return call


TRANSPORTS = {
    "slipring-lossy": Lossy,
    "slipring": Slipring,
    "slipring-one-writer": OneWriter,
    "slipring-sleeping": Sleeping,
    "slipring-into": IntoBuffer,
    "slipring-arrow": IntoArrow,
    "slipring-lists": IntoLists,
    "slipring-in-place": InPlace,
    "slipring-calls": Calls,
    "slipring-calls-raw": Raw,
    "slipring-calls-async": Async,
}
