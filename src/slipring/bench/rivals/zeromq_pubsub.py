# SPDX-License-Identifier: Apache-2.0
"""pyzmq PUB to SUB over ipc://: in front of a crowd that may be overrun, and delivering everything to many."""

import zmq

from slipring.bench.rivals.zeromq import PushPull
from slipring.bench.transport import Receive, Send


class PubSub(PushPull):
    """One publisher in front of a crowd of subscribers: full queues make it drop, its cheapest case."""

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.backlog = 1000

    def crowd(self, channel: str, count: int):
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
        # XPUB is PUB that tells when somebody subscribed.
        socket = self._socket(zmq.XPUB)
        # Without this it tells of the first subscription to a prefix only.
        socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        return socket

    def publisher(self, channel: str, crowd: int) -> Send:
        socket = self._publishing()
        socket.bind(self._address(channel))
        for _ in range(crowd):
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


TRANSPORTS = {"pyzmq-pubsub": PubSub, "zmq-pub-sub": FanOut}
