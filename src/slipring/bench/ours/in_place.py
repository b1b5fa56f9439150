# SPDX-License-Identifier: Apache-2.0
"""Slipring without a copy: written where it will be read, read where it was written."""

from itertools import repeat

from slipring.bench.ours.topics import Slipring
from slipring.bench.transport import Receive, Send


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


TRANSPORTS = {"slipring-in-place": InPlace}
