# SPDX-License-Identifier: Apache-2.0
"""asyncio's own streams over Unix sockets; a message is read by its size, which both sides know: no framing to pay."""

import asyncio

from slipring.bench.rivals.unix_socket import UnixSocket
from slipring.bench.transport import AsyncReceive, AsyncSend


class Streams(UnixSocket):
    largest_packet = -1

    async def async_sender(self, channel: str) -> AsyncSend:
        _, writer = await asyncio.open_unix_connection(sock=self.ends[channel][1])

        async def send_one(body: bytes) -> None:
            writer.write(body)
            await writer.drain()

        return send_one

    async def async_receiver(self, channel: str) -> AsyncReceive:
        reader, self.kept_open = await asyncio.open_unix_connection(sock=self.ends[channel][0])
        size = self.size
        return lambda: reader.readexactly(size)


TRANSPORTS = {"asyncio-streams": Streams}
