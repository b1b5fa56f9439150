# SPDX-License-Identifier: Apache-2.0
"""pyzmq over ipc://: PUSH to PULL, one message a call and multipart; PUB to SUB; REQ to REP; and under asyncio."""

import struct
import threading
from itertools import repeat
from typing import Any

import zmq
import zmq.asyncio

from benchmarks import typed_values
from benchmarks.typed_values import SendSome, TakeSome, ValueTransport
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

# A deep queue is ZeroMQ's fastest setting for small messages; large ones must not pile up in memory.
BACKLOG_BYTES = 64 << 20


class PushPull(Transport):
    threads_of_its_own = True

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.backlog = max(4, min(100_000, BACKLOG_BYTES // max(size, 1)))
        self.context = None
        self.sockets: list = []

    def _socket(self, kind: int) -> zmq.Socket:
        # The context starts its I/O thread, so it belongs to the process that uses it.
        self.context = self.context or self._new_context()
        socket = self.context.socket(kind)
        if self.backlog:
            socket.hwm = self.backlog
        self.sockets.append(socket)
        return socket

    def _new_context(self) -> zmq.Context:
        context = zmq.Context()
        # For many channels: the limit is a thousand unless it is raised before the first socket.
        context.max_sockets = 4096
        return context

    def _address(self, channel: str) -> str:
        return f"ipc://{self.place}/{channel}.zmq"

    def sender(self, channel: str) -> Send:
        socket = self._socket(zmq.PUSH)
        socket.connect(self._address(channel))
        return socket.send

    def receiver(self, channel: str) -> Receive:
        socket = self._socket(zmq.PULL)
        socket.bind(self._address(channel))
        return socket.recv

    def waiter(self) -> Wait:
        poller = zmq.Poller()
        receives = {}
        for channel in self.channels:
            receive = self.receiver(channel)
            poller.register(self.sockets[-1], zmq.POLLIN)
            receives[self.sockets[-1]] = receive
        return lambda: [receives[socket] for socket, _ in poller.poll()]

    def close(self) -> None:
        for socket in self.sockets:
            socket.close(linger=1000)
        if self.context:
            self.context.term()


class OneByOne(PushPull):
    """The batch question answered with plain sends: what a pyzmq user does with a list of messages."""

    def sender_many(self, channel: str) -> SendMany:
        send = self.sender(channel)

        def send_many(bodies):
            for body in bodies:
                send(body)

        return send_many

    def receiver_many(self, channel: str) -> ReceiveMany:
        recv = self.receiver(channel)

        def receive_many():
            # One hundred at a time only to keep the counting out of the figure.
            for _ in repeat(None, 100):
                recv()
            return 100

        return receive_many


class AsItComes(OneByOne):
    """With the queue of 1000 messages that it has unless told otherwise, as most programs use it."""

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.backlog = 0


class Multipart(PushPull):
    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.backlog = 1000

    def sender_many(self, channel: str) -> SendMany:
        socket = self._socket(zmq.PUSH)
        socket.connect(self._address(channel))
        return socket.send_multipart

    def receiver_many(self, channel: str) -> ReceiveMany:
        socket = self._socket(zmq.PULL)
        socket.bind(self._address(channel))
        return lambda: len(socket.recv_multipart())


class Asyncio(PushPull):
    """By its own zmq.asyncio, with a deep queue."""

    def _for_tasks(self, kind: int) -> zmq.asyncio.Socket:
        plain = self._socket(kind)
        return zmq.asyncio.Socket(shadow=plain)

    async def async_sender(self, channel: str) -> AsyncSend:
        socket = self._for_tasks(zmq.PUSH)
        socket.connect(self._address(channel))
        return socket.send

    async def async_receiver(self, channel: str) -> AsyncReceive:
        socket = self._for_tasks(zmq.PULL)
        socket.bind(self._address(channel))
        return socket.recv


class PubSub(PushPull):
    """One publisher in front of many subscribers: full queues make it drop, its cheapest case."""

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.backlog = 1000

    def slow_subscribers(self, channel: str, count: int):
        subscribers = [self._socket(zmq.SUB) for _ in range(count)]
        for subscriber in subscribers:
            subscriber.subscribe(b"")
            subscriber.connect(self._address(channel))

        def take_a_few():
            for subscriber in subscribers:
                for _ in range(16):
                    if not subscriber.poll(0):
                        break
                    subscriber.recv()

        return take_a_few

    def _publishing(self) -> zmq.Socket:
        # XPUB is a PUB socket that also receives the subscriptions.
        socket = self._socket(zmq.XPUB)
        # Without this option only the first subscription to a prefix is received.
        socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        return socket

    def publisher(self, channel: str, subscribers: int) -> Send:
        socket = self._publishing()
        socket.bind(self._address(channel))
        for _ in range(subscribers):
            socket.recv()
        return socket.send


class FanOut(PubSub):
    """Everything arrives: at a full queue it waits instead of dropping, and the queue is deep, its fastest."""

    backlog_messages = 100_000

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.backlog = self.backlog_messages

    def receiver(self, channel: str) -> Receive:
        socket = self._socket(zmq.SUB)
        socket.subscribe(b"")
        socket.connect(self._address(channel))
        return socket.recv

    def _publishing(self) -> zmq.Socket:
        socket = super()._publishing()
        socket.setsockopt(zmq.XPUB_NODROP, 1)
        return socket


class ReqRep(Transport):
    """Plain bytes, no method name, nothing to encode: its fastest call."""

    threads_of_its_own = True

    def _socket(self, kind: int) -> zmq.Socket:
        self.context = zmq.Context()
        self.socket = self.context.socket(kind)
        self.socket.linger = 0
        return self.socket

    def serve(self) -> None:
        socket = self._socket(zmq.REP)
        socket.bind(f"ipc://{self.place}/calls.zmq")

        def answer() -> None:
            while body := socket.recv():
                socket.send(body)
            socket.send(b"")

        threading.Thread(target=answer, daemon=True).start()

    def caller(self) -> Call:
        socket = self._socket(zmq.REQ)
        socket.connect(f"ipc://{self.place}/calls.zmq")

        def call(body: bytes) -> bytes:
            socket.send(body)
            return socket.recv()

        return call


DOUBLES = struct.Struct("<8d")


class Values(PushPull, ValueTransport):
    """One value a message: bytes, objects by msgspec, or 8 doubles by struct."""

    def value_receiver(self, message: str) -> TakeSome:
        recv = self.receiver("there")

        def take_bytes(count: int) -> Any:
            body = b""
            for _ in repeat(None, count):
                body = recv()
            return body

        def take_records(count: int) -> Any:
            number = 0.0
            for _ in repeat(None, count):
                number = DOUBLES.unpack(recv())[-1]
            return number

        if message in ("bytes", "doubles"):
            return take_bytes if message == "bytes" else take_records
        decode = typed_values.decoder(message)

        def take_objects(count: int) -> Any:
            value: Any = None
            for _ in repeat(None, count):
                value = decode(recv())
                _ = value.seq
            return value

        return take_objects

    def value_sender(self, message: str) -> SendSome:
        send = self.sender("there")

        def send_bytes(count: int) -> None:
            for _ in repeat(None, count):
                send(typed_values.BODY)

        def send_records(count: int) -> None:
            for _ in repeat(None, count):
                send(DOUBLES.pack(*typed_values.RECORD))

        if message in ("bytes", "doubles"):
            return send_bytes if message == "bytes" else send_records
        encode, value = typed_values.encoder(), typed_values.example(message)

        def send_objects(count: int) -> None:
            for _ in repeat(None, count):
                send(encode(value))

        return send_objects


class Arrays(PushPull, ValueTransport):
    """An array of a thousand records in one message, and an array over its bytes on the other side."""

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size * typed_values.ROWS, channels)

    def value_receiver(self, message: str) -> TakeSome:
        import numpy

        recv, dtype, last = self.receiver("there"), typed_values.dtype(), typed_values.DOUBLES[-1]

        def take(count: int) -> Any:
            array: Any = None
            while count > 0:
                array = numpy.frombuffer(recv(), dtype)
                count -= len(array)
            return float(array[last][-1])

        return take

    def value_sender(self, message: str) -> SendSome:
        send, array = self.sender("there"), typed_values.array()

        def send_some(count: int) -> None:
            for _ in repeat(None, count // typed_values.ROWS):
                send(array)

        return send_some


TRANSPORTS = {
    "pyzmq-values": Values,
    "pyzmq-arrays": Arrays,
    "pyzmq": OneByOne,
    "pyzmq-default": AsItComes,
    "pyzmq-multipart": Multipart,
    "zmq-asyncio": Asyncio,
    "pyzmq-pubsub": PubSub,
    "zmq-pub-sub": FanOut,
    "pyzmq-req-rep": ReqRep,
}
