# SPDX-License-Identifier: Apache-2.0
"""pyzmq over ipc://: PUSH to PULL, one message a call; and multipart, its nearest thing to batches."""

from itertools import repeat

import zmq

from slipring.bench.transport import Receive, ReceiveMany, Send, SendMany, Transport, Wait

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


TRANSPORTS = {
    "pyzmq": OneByOne,
    "pyzmq-default": AsItComes,
    "pyzmq-multipart": Multipart,
}
