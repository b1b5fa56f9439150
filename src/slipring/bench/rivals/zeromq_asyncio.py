# SPDX-License-Identifier: Apache-2.0
"""pyzmq under asyncio, by its own zmq.asyncio: PUSH to PULL over ipc://, with a deep queue."""

import zmq
import zmq.asyncio

from slipring.bench.rivals.zeromq import PushPull
from slipring.bench.transport import AsyncReceive, AsyncSend


class Asyncio(PushPull):
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


TRANSPORTS = {"zmq-asyncio": Asyncio}
