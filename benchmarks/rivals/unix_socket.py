# SPDX-License-Identifier: Apache-2.0
"""Unix sockets: SEQPACKET while one message fits a socket buffer, else a stream read to the exact size."""

import selectors
import socket

from slipring.bench.transport import Receive, Send, Transport, Wait


class UnixSocket(Transport):
    largest_packet = 128 * 1024

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.packets = size <= self.largest_packet
        kind = socket.SOCK_SEQPACKET if self.packets else socket.SOCK_STREAM
        self.ends = {channel: socket.socketpair(socket.AF_UNIX, kind) for channel in self.channels}
        for receiving, sending in self.ends.values():
            # The largest the kernel grants without privilege; it clips the request to its own limit.
            receiving.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            sending.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)

    def sender(self, channel: str) -> Send:
        sending = self.ends[channel][1]
        return sending.send if self.packets else sending.sendall

    def receiver(self, channel: str) -> Receive:
        receiving, size = self.ends[channel][0], self.size
        if self.packets:
            # At least one byte of room: asked for none, the kernel would leave an empty packet where it is.
            return lambda: receiving.recv(size or 1)
        # MSG_WAITALL: one call per message although the kernel hands a stream over in pieces.
        return lambda: receiving.recv(size, socket.MSG_WAITALL)

    def waiter(self) -> Wait:
        # epoll on Linux: what it costs does not grow with those that are silent.
        selector = selectors.DefaultSelector()
        for channel in self.channels:
            selector.register(self.ends[channel][0], selectors.EVENT_READ, self.receiver(channel))
        return lambda: [key.data for key, _ in selector.select()]

    def close(self) -> None:
        for pair in self.ends.values():
            for end in pair:
                end.close()


class IntoBuffer(UnixSocket):
    """Received into one buffer again and again, where others make new bytes."""

    def receiver(self, channel: str) -> Receive:
        receiving, buffer = self.ends[channel][0], bytearray(self.size)
        # For packets it changes nothing.
        receive, whole = receiving.recv_into, socket.MSG_WAITALL

        def receive_one() -> bytearray:
            receive(buffer, 0, whole)
            return buffer

        return receive_one


TRANSPORTS = {"unix-socket": UnixSocket, "unix-socket-into": IntoBuffer}
