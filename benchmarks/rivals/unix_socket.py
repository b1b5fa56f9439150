# SPDX-License-Identifier: Apache-2.0
"""Unix sockets: SEQPACKET while one message fits a socket buffer, else a stream read to the exact size."""

import socket

from benchmarks.transport import Receive, Send, Transport

LARGEST_PACKET = 128 * 1024


class UnixSocket(Transport):
    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.packets = size <= LARGEST_PACKET
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
            return lambda: receiving.recv(size)
        # MSG_WAITALL: one call per message although the kernel hands a stream over in pieces.
        return lambda: receiving.recv(size, socket.MSG_WAITALL)

    def close(self) -> None:
        for pair in self.ends.values():
            for end in pair:
                end.close()


TRANSPORTS = {"unix-socket": UnixSocket}
