# SPDX-License-Identifier: Apache-2.0
"""pynng over ipc://: PUSH to PULL."""

import pynng

from slipring.bench.transport import Receive, Send, Transport


class PushPull(Transport):
    threads_of_its_own = True

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.sockets: list = []

    def sender(self, channel: str) -> Send:
        socket = pynng.Push0(dial=f"ipc://{self.place}/{channel}.nng", block_on_dial=True)
        self.sockets.append(socket)
        return socket.send

    def receiver(self, channel: str) -> Receive:
        # nng refuses messages over 1 MiB unless told otherwise; 0 means no limit.
        socket = pynng.Pull0(listen=f"ipc://{self.place}/{channel}.nng", recv_max_size=0)
        self.sockets.append(socket)
        return socket.recv

    def close(self) -> None:
        for socket in self.sockets:
            socket.close()


TRANSPORTS = {"pynng": PushPull}
